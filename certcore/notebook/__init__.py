"""Results in notebooks: HTML cards, pandas tables, networkx graphs and plots; each module is imported on first use."""

"""Results in notebooks: cards, pandas tables, networkx graphs and plots; each module is loaded at its first use."""

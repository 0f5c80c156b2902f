"""How results show themselves: cards for notebooks, pandas tables, networkx graphs. Loaded when they are asked for."""

"""The convex-relaxation certificate of Zügner and Günnemann, which gives a grid of budgets per node."""

"""The workbench: linked views (number, bar, graph, curve, map) in a browser, for dashboard, file and notebook."""

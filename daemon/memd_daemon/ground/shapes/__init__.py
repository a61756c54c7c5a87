"""How the trees of each grammar are read: one module a language, all of them in table.py, which is imported with a grammar."""

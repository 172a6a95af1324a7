"""Packs lists of known lengths into rows, beside Grain's packer."""

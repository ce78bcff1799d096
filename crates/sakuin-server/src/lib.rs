//! The doors of Sakuin.

//! `sakuin serve`, `check` and `stories`: the doors.

//! The reader on texts.

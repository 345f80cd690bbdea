//! The rules of the repository, as tests.

mod edges;
mod links;
mod migrations;
mod repository;
mod sizes;
mod tables;
mod words;

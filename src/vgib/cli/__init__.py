"""The command line: parse, call the library, print. Results on stdout, talk on stderr."""

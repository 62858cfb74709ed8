"""The service and the page: the library's verbs over HTTP, for one machine."""

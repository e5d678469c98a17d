def register_fixtures(services):
    pass

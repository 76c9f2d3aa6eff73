"""What asks a server, another machine's or the daemon of this one. No torch and no server's packages here."""

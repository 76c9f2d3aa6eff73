"""What everything else needs: errors, messages, files, settings. Knows nothing of models or texts."""

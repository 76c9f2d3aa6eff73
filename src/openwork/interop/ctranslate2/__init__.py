"""CTranslate2: its folders and binary format, read and written."""

import os, sys
from django.core.management import execute_from_command_line

os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
execute_from_command_line(sys.argv)

import os

DATABASES = {"default": {"ENGINE": "django.db.backends.mysql", "NAME": os.environ["APP_DATABASE"], "USER": os.environ["APP_USER"], "PASSWORD": os.environ["APP_PASSWORD"],
                         "HOST": os.environ["APP_HOST"], "PORT": os.environ["APP_PORT"], "OPTIONS": {"charset": "utf8mb4"}}}
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions", "django.contrib.messages", "django.contrib.admin", "shop"]
MIDDLEWARE = ["django.contrib.sessions.middleware.SessionMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware", "django.contrib.messages.middleware.MessageMiddleware"]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "OPTIONS": {"context_processors": [
    "django.template.context_processors.request", "django.contrib.auth.context_processors.auth", "django.contrib.messages.context_processors.messages"]}}]
ROOT_URLCONF = "shop.urls"
SECRET_KEY = "not a secret"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DEBUG, USE_TZ, APPEND_SLASH = False, False, False
ALLOWED_HOSTS = ["*"]

"""Our server, for the tests that vdirsyncer has of its storages: each test gets a book of its own."""

import base64
import itertools
import os
import urllib.request

import pytest

NUMBERS = itertools.count()


class ServerMixin:
    @pytest.fixture
    def get_storage_args(self, aio_connector, request):
        async def inner(collection="test"):
            url = os.environ["SAKUIN_URL"]
            args = {"url": url, "username": "ada", "password": "secret", "connector": aio_connector}
            if collection is None:
                return args
            name = f"{collection}-{next(NUMBERS)}"
            made = await self.storage_class.create_collection(name, **args)
            request.addfinalizer(lambda: remove(made["url"]))
            return {**args, **made}

        return inner


def remove(url):
    who = base64.b64encode(b"ada:secret").decode()
    headers = {"Authorization": f"Basic {who}"}
    urllib.request.urlopen(urllib.request.Request(url, method="DELETE", headers=headers))

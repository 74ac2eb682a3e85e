"""Asynchronous OData requests: `Prefer: respond-async` and the status monitor."""

import time
import unittest
import urllib.parse

from harness import START_SECONDS
from odata_reference import ReferenceTest

QUICK = True


class AnsweredLater(ReferenceTest):
    def started(self, method, path, body=None, **headers):
        answer = self.request(method, path, body, 202, Prefer="respond-async", **headers)
        self.assertEqual(answer.headers["preference-applied"], "respond-async")
        return urllib.parse.urlsplit(answer.headers["location"]).path

    def finished(self, monitor, **headers):
        end = time.monotonic() + START_SECONDS
        while (answer := self.gateway.request("GET", monitor, headers=headers)).status == 202:
            self.assertLess(time.monotonic(), end, answer)
            time.sleep(0.01)
        return self.expect(answer, 200)

    def test_the_monitor_gives_the_answer_and_its_status(self):
        answer = self.finished(self.started("GET", "Categories?$orderby=Name"))
        self.assertEqual(answer.headers["asyncresult"], "200")
        self.assertEqual([row["Name"] for row in answer.json()["value"]], ["Electronics", "Furniture", "Kitchen"])

    def test_with_odata_4_0_the_answer_is_an_http_message(self):
        monitor = self.started("GET", "Categories", OData_MaxVersion="4.0")
        answer = self.finished(monitor, **{"OData-MaxVersion": "4.0", "Accept": "application/http"})
        self.assertEqual(answer.headers["content-type"], "application/http")
        self.assertTrue(answer.body.startswith(b"HTTP/1.1 200 OK\r\n"), answer)

    def test_an_error_is_an_answer_too(self):
        self.assertEqual(self.finished(self.started("GET", "Nothing")).headers["asyncresult"], "404")

    def test_a_change_is_made_once(self):
        monitor = self.started("POST", "Products", {"Name": "Later", "Price": 1, "Status": "InStock"})
        self.assertEqual(self.finished(monitor).headers["asyncresult"], "201")
        self.assertEqual(self.names("Products?$filter=Name eq 'Later'"), ["Later"])

    def test_a_client_can_delete_it(self):
        monitor = self.started("GET", "Categories")
        self.finished(monitor)
        self.expect(self.gateway.request("DELETE", monitor), 204)
        self.expect(self.gateway.request("GET", monitor), 404)


if __name__ == "__main__":
    unittest.main()

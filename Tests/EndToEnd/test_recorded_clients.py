"""Requests as the clients of other platforms put them on the wire, byte by byte: their fields in their order, spelling and
white space. Each is answered with what its client reads.

`{host}` is the gateway's, `{basic}` alice's credentials; lines of a head end with CRLF, bodies stand as they are.
"""

import base64
import gzip
import json
import socket
import unittest
import xml.etree.ElementTree as ElementTree

from harness import GatewayTest

QUICK = True

BASIC = "Basic " + base64.b64encode(b"alice:portico-demo").decode()
ADMISSIONS = "/odata/v2/admissions"
EXPORT = "/iPhoneServicesModuleWeb/sca/OrganizationInterfaceExport"
TNS = "http://iPhoneServices/OrganizationInterface"
ATOM = "{http://www.w3.org/2005/Atom}"


def search(prefix="ns1", attribute=""):
    """The body's element as stacks write it that put names into a prefix, or none."""
    mark = f"{prefix}:" if prefix else ""
    space = f' xmlns:{prefix}="{TNS}"' if prefix else f' xmlns="{TNS}"'
    return (
        f"<{mark}employeeSearch{space}><{mark}input1><{mark}fullName{attribute}>a</{mark}fullName></{mark}input1>"
        f"</{mark}employeeSearch>")


def is_page(status, headers, body):
    """A page of employees over SOAP."""
    root = ElementTree.fromstring(body)
    return status == 200 and root.find(f".//{{{TNS}}}output1") is not None


def is_feed(count):
    def check(status, headers, body):
        return status == 200 and len(ElementTree.fromstring(body).findall(f"{ATOM}entry")) == count
    return check


def is_json(path, count=None):
    def check(status, headers, body):
        if status != 200:
            return False
        value = json.loads(body)
        for name in path:
            value = value[name]
        return count is None or len(value) == count
    return check


def is_status(wanted, *words):
    return lambda status, headers, body: status == wanted and all(word.encode() in body for word in words)


SOAP = f"POST {EXPORT} HTTP/1.1"
# Client, head, body, what it must get.
REQUESTS = [
    ("Java's HttpURLConnection", """
GET /v1/list HTTP/1.1
Authorization: {basic}
User-Agent: Java/1.8.0_392
Host: {host}
Accept: text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2
Connection: keep-alive
""", "", is_status(200, "UserName")),
    ("Java's HttpURLConnection with credentials, for JSON", """
GET /api/v1/users/users?limit=2 HTTP/1.1
Authorization: {basic}
Accept: application/json
User-Agent: Java/21.0.1
Host: {host}
Connection: keep-alive
""", "", is_json(["items"], 2)),
    ("Java's HttpURLConnection, a form", """
POST /auth/login HTTP/1.1
User-Agent: Java/17.0.9
Host: {host}
Accept: text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2
Connection: keep-alive
Content-type: application/x-www-form-urlencoded
Content-Length: {length}
""", "username=alice&password=portico-demo", is_status(200, "accessToken")),
    ("Java's HttpClient, which asks for HTTP/2", """
GET /health/ready HTTP/1.1
Connection: Upgrade, HTTP2-Settings
Content-Length: 0
Host: {host}
HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA
Upgrade: h2c
User-Agent: Java-http-client/17.0.9
""", "", is_status(200)),
    (".NET's HttpClient", """
GET /v2/list HTTP/1.1
Authorization: {basic}
Host: {host}
""", "", is_status(200, "UserName")),
    (".NET's HttpWebRequest, with Expect", """
POST /auth/login HTTP/1.1
Content-Type: application/json
Host: {host}
Content-Length: {length}
Expect: 100-continue
Connection: Keep-Alive
""", '{"username":"alice","password":"portico-demo"}', is_status(200, "accessToken")),
    (".NET's WCF Data Services client, a query", f"""
GET {ADMISSIONS}/Students()?$filter=StudentID%20gt%200&$orderby=LastName&$top=3 HTTP/1.1
DataServiceVersion: 1.0;NetFx
MaxDataServiceVersion: 2.0;NetFx
Accept: application/atom+xml,application/xml
Accept-Charset: UTF-8
User-Agent: Microsoft ADO.NET Data Services
Authorization: {{basic}}
Host: {{host}}
Connection: Keep-Alive
""", "", is_feed(3)),
    (".NET's WCF Data Services client of version 3, dates of a day", f"""
GET {ADMISSIONS}/Students()?$filter=(BirthDate%20ge%20datetime'1900-01-01T00:00:00')%20and%20(BirthDate%20le%20datetime'2100-12-31T23:59:59')&$top=2 HTTP/1.1
DataServiceVersion: 2.0;NetFx
MaxDataServiceVersion: 3.0;NetFx
Accept: application/atom+xml,application/xml
Accept-Charset: UTF-8
User-Agent: Microsoft ADO.NET Data Services
Authorization: {{basic}}
Host: {{host}}
""", "", is_feed(2)),
    (".NET's WCF Data Services client, the count of a set", f"""
GET {ADMISSIONS}/Schools()/$count HTTP/1.1
DataServiceVersion: 2.0;NetFx
MaxDataServiceVersion: 2.0;NetFx
Accept: application/atom+xml,application/xml
Accept-Charset: UTF-8
User-Agent: Microsoft ADO.NET Data Services
Authorization: {{basic}}
Host: {{host}}
""", "", lambda status, headers, body: status == 200 and body.lstrip(b"\xef\xbb\xbf").isdigit()),
    ("Microsoft's OData client for .NET", """
GET /odata/v4/admissions/Students?$top=2&$count=true HTTP/1.1
OData-Version: 4.0
OData-MaxVersion: 4.0;NetFx
Accept: application/json;odata.metadata=minimal
Accept-Charset: UTF-8
User-Agent: Microsoft.OData.Client/7.20.0
Authorization: {basic}
Host: {host}
""", "", is_json(["value"], 2)),
    ("Power Query, the service", """
GET /odata/v4/admissions/ HTTP/1.1
MaxDataServiceVersion: 3.0
OData-MaxVersion: 4.0
Accept: application/json;odata.metadata=minimal;q=1.0,application/json;odata=minimalmetadata;q=0.9,application/atomsvc+xml;q=0.8,application/atom+xml;q=0.8,application/xml;q=0.7,text/plain;q=0.7
User-Agent: Microsoft.Data.Mashup (https://go.microsoft.com/fwlink/?LinkID=304225)
Authorization: {basic}
Accept-Encoding: gzip, deflate
Host: {host}
Connection: Keep-Alive
""", "", is_json(["value"])),
    ("Power Query, rows of version 2", f"""
GET {ADMISSIONS}/Students?$select=StudentID,LastName&$top=1000 HTTP/1.1
MaxDataServiceVersion: 3.0
OData-MaxVersion: 4.0
Accept: application/json;odata.metadata=minimal;q=1.0,application/json;odata=minimalmetadata;q=0.9,application/atomsvc+xml;q=0.8,application/atom+xml;q=0.8,application/xml;q=0.7,text/plain;q=0.7
User-Agent: Microsoft.Data.Mashup (https://go.microsoft.com/fwlink/?LinkID=304225)
Authorization: {{basic}}
Accept-Encoding: gzip, deflate
Host: {{host}}
Connection: Keep-Alive
""", "", is_json(["d", "results"])),
    ("SAPUI5's model of version 2, a batch", f"""
POST {ADMISSIONS}/$batch HTTP/1.1
Host: {{host}}
Connection: keep-alive
Content-Length: {{length}}
sap-contextid-accept: header
Accept: multipart/mixed
DataServiceVersion: 2.0
Accept-Language: en
MaxDataServiceVersion: 2.0
X-Requested-With: XMLHttpRequest
sap-cancel-on-close: true
Content-Type: multipart/mixed;boundary=batch_d63a-6d8f-d5a5
Authorization: {{basic}}
Accept-Encoding: gzip, deflate, br
""", "\r\n--batch_d63a-6d8f-d5a5\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
     "GET Students?$skip=0&$top=2&$inlinecount=allpages HTTP/1.1\r\nsap-cancel-on-close: true\r\nAccept: application/json\r\n"
     "Accept-Language: en\r\nDataServiceVersion: 2.0\r\nMaxDataServiceVersion: 2.0\r\n\r\n\r\n--batch_d63a-6d8f-d5a5--\r\n",
     is_status(202, "HTTP/1.1 200 OK", '"__count"')),
    ("SAPUI5's model of version 4, a batch", """
POST /odata/v4/admissions/$batch?sap-language=EN HTTP/1.1
Host: {host}
Connection: keep-alive
Content-Length: {length}
OData-MaxVersion: 4.0
Accept: multipart/mixed
Accept-Language: en
X-Requested-With: XMLHttpRequest
OData-Version: 4.0
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=id-1700000000000-60
Authorization: {basic}
Accept-Encoding: gzip, deflate, br
""", "--id-1700000000000-60\r\nContent-Type:application/http\r\nContent-Transfer-Encoding:binary\r\n\r\n"
     "GET Students?$count=true&$select=LastName,StudentID&$skip=0&$top=2 HTTP/1.1\r\n"
     "Accept:application/json;odata.metadata=minimal;IEEE754Compatible=true\r\nAccept-Language:en\r\nX-CSRF-Token:Fetch\r\n"
     "Content-Type:application/json;charset=UTF-8;IEEE754Compatible=true\r\n\r\n\r\n--id-1700000000000-60--\r\n",
     is_status(200, "HTTP/1.1 200 OK", '"@odata.count":"')),
    ("PHP's SoapClient", f"""
{SOAP}
Host: {{host}}
Connection: Keep-Alive
User-Agent: PHP-SOAP/8.2.10
Content-Type: text/xml; charset=utf-8
SOAPAction: "employeeSearch"
Content-Length: {{length}}
Authorization: {{basic}}
""", '<?xml version="1.0" encoding="UTF-8"?>\n<SOAP-ENV:Envelope xmlns:SOAP-ENV="http://schemas.xmlsoap.org/soap/envelope/" '
     f'xmlns:ns1="{TNS}"><SOAP-ENV:Body>{search()}</SOAP-ENV:Body></SOAP-ENV:Envelope>\n', is_page),
    ("PHP's SoapClient of SOAP 1.2", f"""
{SOAP}
Host: {{host}}
Connection: Keep-Alive
User-Agent: PHP-SOAP/8.2.10
Content-Type: application/soap+xml; charset=utf-8; action="employeeSearch"
Content-Length: {{length}}
Authorization: {{basic}}
""", '<?xml version="1.0" encoding="UTF-8"?>\n<env:Envelope xmlns:env="http://www.w3.org/2003/05/soap-envelope" '
     f'xmlns:ns1="{TNS}"><env:Body>{search()}</env:Body></env:Envelope>\n', is_page),
    ("Perl's SOAP::Lite", f"""
{SOAP}
TE: deflate,gzip;q=0.3
Connection: TE
Accept: text/xml
Accept: multipart/*
Accept: application/soap
Authorization: {{basic}}
Host: {{host}}
User-Agent: SOAP::Lite/Perl/1.27
Content-Length: {{length}}
Content-Type: text/xml; charset=utf-8
SOAPAction: "{TNS}#employeeSearch"
""", '<?xml version="1.0" encoding="UTF-8"?><soap:Envelope soap:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/" '
     'xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" xmlns:soapenc="http://schemas.xmlsoap.org/soap/encoding/" '
     'xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
     f'<soap:Body>{search("", " xsi:type=" + chr(34) + "xsd:string" + chr(34))}</soap:Body></soap:Envelope>', is_page),
    ("Python's zeep", f"""
{SOAP}
Host: {{host}}
User-Agent: Zeep/4.2.1 (www.python-zeep.org)
Accept-Encoding: gzip, deflate
Accept: */*
Connection: keep-alive
SOAPAction: "employeeSearch"
Content-Type: text/xml; charset=utf-8
Content-Length: {{length}}
Authorization: {{basic}}
""", "<?xml version='1.0' encoding='utf-8'?>\n<soap-env:Envelope xmlns:soap-env=\"http://schemas.xmlsoap.org/soap/envelope/\">"
     f"<soap-env:Body>{search('ns0')}</soap-env:Body></soap-env:Envelope>", is_page),
    ("Python's suds", f"""
{SOAP}
Accept-Encoding: identity
Content-Length: {{length}}
Host: {{host}}
User-Agent: Python-urllib/3.11
Soapaction: "employeeSearch"
Content-Type: text/xml; charset=utf-8
Authorization: {{basic}}
Connection: close
""", '<?xml version="1.0" encoding="UTF-8"?><SOAP-ENV:Envelope xmlns:ns0="' + TNS + '" '
     'xmlns:ns1="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
     f'xmlns:SOAP-ENV="http://schemas.xmlsoap.org/soap/envelope/"><SOAP-ENV:Header/><ns1:Body>{search("ns0")}</ns1:Body>'
     '</SOAP-ENV:Envelope>', is_page),
    (".NET's WCF client of SOAP", f"""
{SOAP}
Content-Type: text/xml; charset=utf-8
SOAPAction: "employeeSearch"
Authorization: {{basic}}
Host: {{host}}
Content-Length: {{length}}
Expect: 100-continue
Accept-Encoding: gzip, deflate
Connection: Keep-Alive
""", '<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body '
     'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema">'
     f'{search("")}</s:Body></s:Envelope>', is_page),
    (".NET's older client of SOAP", f"""
{SOAP}
User-Agent: Mozilla/4.0 (compatible; MSIE 6.0; MS Web Services Client Protocol 4.0.30319.42000)
Content-Type: text/xml; charset=utf-8
SOAPAction: "employeeSearch"
Authorization: {{basic}}
Host: {{host}}
Content-Length: {{length}}
Expect: 100-continue
Connection: Keep-Alive
""", '<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/" '
     'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema">'
     f'<soap:Body>{search("")}</soap:Body></soap:Envelope>', is_page),
    ("Java's JAX-WS", f"""
{SOAP}
Accept: text/xml, multipart/related
Authorization: {{basic}}
Content-Type: text/xml; charset=utf-8
SOAPAction: "employeeSearch"
User-Agent: JAX-WS RI 2.2.9-b130926.1035 svn-revision#5f6196f2b90e9460065a4c2f4e30e065b245e51e
Host: {{host}}
Connection: keep-alive
Content-Length: {{length}}
""", "<?xml version='1.0' encoding='UTF-8'?><S:Envelope xmlns:S=\"http://schemas.xmlsoap.org/soap/envelope/\">"
     f"<S:Body>{search('ns2')}</S:Body></S:Envelope>", is_page),
    ("Java's CXF, in chunks", f"""
{SOAP}
Content-Type: text/xml; charset=UTF-8
Accept: */*
Authorization: {{basic}}
SOAPAction: "employeeSearch"
User-Agent: Apache-CXF/3.5.5
Cache-Control: no-cache
Pragma: no-cache
Host: {{host}}
Connection: keep-alive
Transfer-Encoding: chunked
""", f'<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body>{search("ns2")}</soap:Body></soap:Envelope>',
     is_page),
    ("Java's Axis, of HTTP/1.0", f"""
POST {EXPORT} HTTP/1.0
Content-Type: text/xml; charset=utf-8
Accept: application/soap+xml, application/dime, multipart/related, text/*
User-Agent: Axis/1.4
Host: {{host}}
Cache-Control: no-cache
Pragma: no-cache
SOAPAction: ""
Content-Length: {{length}}
Authorization: {{basic}}
""", '<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" '
     'xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
     f'<soapenv:Body>{search("")}</soapenv:Body></soapenv:Envelope>', is_page),
]


class RecordedClients(GatewayTest):
    def exchange(self, head, body):
        """The final answer to a request that is sent as it stands."""
        body = body.encode()
        head = head.strip("\n").replace("{host}", f"127.0.0.1:{self.gateway.port}").replace("{basic}", BASIC)
        head = head.replace("{length}", str(len(body))).replace("\n", "\r\n") + "\r\n\r\n"
        if "chunked" in head:
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        with socket.create_connection(("127.0.0.1", self.gateway.port), timeout=60) as connection:
            connection.sendall(head.encode() + body)
            stream = connection.makefile("rb")
            while True:
                status = int(stream.readline().split()[1])
                headers = {}
                while line := stream.readline().strip():
                    name, value = line.decode("latin-1").split(":", 1)
                    headers[name.lower()] = value.strip()
                if status != 100:
                    return status, headers, self.body(stream, headers)

    @staticmethod
    def body(stream, headers):
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(stream.readline().split(b";")[0], 16):
                body += stream.read(size)
                stream.readline()
        elif "content-length" in headers:
            body = stream.read(int(headers["content-length"]))
        else:
            body = stream.read()
        return gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body

    def test_every_client_gets_what_it_reads(self):
        for client, head, body, check in REQUESTS:
            with self.subTest(client=client):
                status, headers, answer = self.exchange(head, body)
                self.assertTrue(check(status, headers, answer), (status, headers, answer[:2_000]))


if __name__ == "__main__":
    unittest.main()

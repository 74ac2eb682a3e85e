import AdapterKit
import IPAddresses
import Testing
import Upstream

@Suite struct AddressTests {
    @Test func `an address is taken apart and put together again`() throws {
        for (text, again) in [
            ("https://Portal.Example.com/a?b=c#d", "https://portal.example.com/a?b=c"), ("http://h", "http://h/"),
            ("HTTP://h:80/", "http://h/"), ("https://[FD00::1]:8443?x", "https://[fd00::1]:8443/?x"),
            ("http://h:8080/a//b/../c", "http://h:8080/a//b/../c"),
        ] {
            #expect(try address(text).description == again)
        }
    }

    @Test(arguments: [
        "", "h", "ftp://h/", "http://", "http:///a", "http://u@h/", "http://u:p@h/", "http://h:/", "http://h:0/",
        "http://h:65536/", "http://h:1e3/", "http://h\\@e/", "http://h /", "http://h/\r\nX: y", "http://h/\u{e9}",
        "http://.h/", "http://h./", "http://[::1/", "http://[h]/", "http://h%2e/", "http://a..b/", "//h/",
        "http://h/{a}",
    ])
    func `what two parsers may read differently is none`(text: String) {
        #expect(UpstreamAddress(text) == nil)
    }

    @Test func `references mean what RFC 3986 says`() throws {
        let base = try address("http://a/b/c/d?q")
        for (reference, meaning) in [
            ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
            ("//g", "http://g/"), ("?y", "http://a/b/c/d?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d?q"),
            ("", "http://a/b/c/d?q"), (".", "http://a/b/c/"), ("..", "http://a/b/"), ("../g", "http://a/b/g"),
            ("../../../g", "http://a/g"), ("g;x=1/../y", "http://a/b/c/y"), ("g?y/../x", "http://a/b/c/g?y/../x"),
            ("https://o/x", "https://o/x"), ("/g?u=http://x", "http://a/g?u=http://x"),
        ] {
            #expect(base.resolving(reference)?.description == meaning, "\(reference)")
        }
        #expect(base.resolving("mailto:a@b") == nil)
    }

    @Test func `a form is described by nothing that is in it`() {
        let form: FormFields = ["j_password": "hunter2"]
        #expect(!"\(form)".contains("hunter2") && !String(reflecting: form).contains("hunter2"))
    }

    @Test func `ranges hold what begins with their bits`() throws {
        let range: AddressRange = "172.16.0.0/12"
        #expect(range.contains(try #require(IPAddress("172.31.255.255"))))
        #expect(!range.contains(try #require(IPAddress("172.32.0.0"))))
        #expect(range.contains(try #require(IPAddress("::ffff:172.16.0.1"))))
        for text in ["10.0.0.0/33", "10.0.0.0/", "ten/8"] { #expect(AddressRange(text) == nil) }
    }
}

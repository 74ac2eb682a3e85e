import HTTPTypes
import NIOHTTP1
import Testing

@testable import Gateway

@Suite struct RepeatedHeadTests {
    private var head = RepeatedHead()

    @Test mutating func `fields are read without the host, whether they repeat or not`() {
        let headers: HTTPHeaders = ["Host": "a", "Accept": "text/xml", "X-Twice": "1", "X-Twice": "2"]
        for _ in 0..<2 {
            let fields = head.fields(of: headers)
            #expect(fields?.map(\.value) == ["text/xml", "1", "2"])
        }
    }

    @Test mutating func `another value of the same length is another value`() {
        _ = head.fields(of: ["Host": "a", "Authorization": "Bearer 12345678a"])
        #expect(
            head.fields(of: ["Host": "a", "Authorization": "Bearer 12345678b"])?[.authorization] == "Bearer 12345678b")
        #expect(
            head.fields(of: ["Host": "a", "Authorization": "Bearer x2345678b"])?[.authorization] == "Bearer x2345678b")
    }

    @Test mutating func `a field less or more, or of another name, is seen`() {
        _ = head.fields(of: ["Accept": "a", "If-Match": "b"])
        #expect(head.fields(of: ["Accept": "a"])?.count == 1)
        #expect(head.fields(of: ["Accept": "a", "If-Match": "b", "Cookie": "c"])?.count == 3)
        #expect(head.fields(of: ["Accept": "a", "If-Match": "b", "Accept": "c"])?[.cookie] == nil)
    }

    @Test mutating func `long fields are read each time`() {
        let long = String(repeating: "a", count: RepeatedHead.longest + 1)
        for value in [long, long + "b", long] {
            #expect(head.fields(of: ["X-Long": value])?.first?.value == value)
        }
    }

    @Test mutating func `a broken address is none, and does not stay`() {
        #expect(head.target(of: "/a?b=1")?.segments == ["a"])
        #expect(head.target(of: "/%zz") == nil)
        #expect(head.target(of: "/a?b=1")?["b"] == "1")
        #expect(head.target(of: "/a?b=2")?["b"] == "2")
    }
}

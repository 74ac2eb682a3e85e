import Testing
import WireFormats

@Suite struct MediaTypeTests {
    @Test(arguments: [
        ("application/json", "application/json"),
        ("Text/XML ; Charset=\"UTF-8\"", "text/xml; charset=UTF-8"),
        ("a/b;;c=\"x y\\\"z\"", "a/b; c=\"x y\\\"z\""),
    ])
    func `a media type is read and written`(text: String, expected: String) {
        #expect(MediaType(text)?.description == expected)
    }

    @Test(arguments: ["", "json", "a/", "/b", "a/b;c", "a/b;c=", "a/b c", "a/b;c=1;C=2", "a/b;c=\"", "é/b"])
    func `what breaks the grammar is refused`(text: String) {
        #expect(MediaType(text) == nil)
    }
}

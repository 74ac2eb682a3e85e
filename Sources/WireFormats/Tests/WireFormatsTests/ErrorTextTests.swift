import Testing
import WireFormats

@Suite struct ErrorTextTests {
    @Test(arguments: [
        (#"{"detail": "Not allowed."}"#, "Not allowed."),
        (#"{"error": {"code": 7, "message": "Too long."}}"#, "Too long."),
        (#"{"error": "invalid_request", "error_description": "Say more."}"#, "Say more."),
        (#"{"type": "about:blank", "title": "Conflict"}"#, "Conflict"),
        (#"{"errors": [{"message": "One."}, {"message": "Two."}]}"#, "One. Two."),
        (#"{"name": ["This field is required."], "age": ["Too old."]}"#, "name: This field is required. age: Too old."),
        (#"{"error": {"message": {"lang": "en", "value": "No."}}}"#, "No."),
        (#"["No.", "Never."]"#, "No. Never."),
        (#""No.""#, "No."),
    ])
    func `a refusal in JSON says why where that is usual`(body: String, text: String) {
        for type in ["application/json", "application/problem+json; charset=utf-8"] {
            #expect(ErrorText.text(of: Array(body.utf8), mediaType: type) == text)
        }
    }

    @Test func `plain text is a reason, a page and what cannot be read are none`() {
        #expect(ErrorText.text(of: Array("No.".utf8), mediaType: "text/plain; charset=utf-8") == "No.")
        #expect(ErrorText.text(of: Array("<p>No.</p>".utf8), mediaType: "text/html") == nil)
        #expect(ErrorText.text(of: Array(#"{"detail": "#.utf8), mediaType: "application/json") == nil)
        #expect(ErrorText.text(of: Array(#"{"status": 400, "ok": false}"#.utf8), mediaType: "application/json") == nil)
        #expect(ErrorText.text(of: [0xFF, 0xFE], mediaType: "text/plain") == nil)
        #expect(ErrorText.text(of: [], mediaType: "application/json") == nil)
    }
}

import Foundation
import Testing

@testable import Client

@Suite("An OData batch")
struct ODataBatchTests {
    private struct Wire: ODataCarrier {
        let transport: ScriptedTransport
        func response(to call: ServerCall) async throws -> TransportResponse {
            try await transport.send(TransportRequest(call, at: ServerAddress("http://sap.example")!, token: nil))
        }
    }

    private func service(_ body: String) -> (AdmissionsService, ScriptedTransport) {
        let transport = ScriptedTransport { _ in
            TransportResponse(
                status: 202, headers: [Header("Content-Type", "multipart/mixed; boundary=\"b 1\"; charset=utf-8")],
                body: Array(body.replacing("\n", with: "\r\n").utf8))
        }
        return (AdmissionsService(Wire(transport: transport), at: ["s"], version: .v2), transport)
    }

    @Test("gives each request its answer: reads by place, changes by their ids, a failed set's to all of it")
    func answers() async throws {
        let (service, asked) = service(
            """
            preamble
            --b 1
            Content-Type: application/http

            HTTP/1.1 200 OK
            Content-Type: application/json

            {"d":{"results":[{"StudentID":1}]}}
            --b 1
            Content-Type: multipart/mixed; boundary=c

            --c
            Content-Type: application/http
            Content-ID: 3

            HTTP/1.1 204 No Content


            --c
            Content-Type: application/http
            Content-ID: 2

            HTTP/1.1 201 Created
            Content-Type: application/json
            Content-Length: 39

            {"d":{"StateCode":"XX","Name":"--c\\n"}}
            --c--
            --b 1
            Content-Type: application/http

            HTTP/1.1 412 Precondition Failed
            Content-Type: application/json

            {"error":{"code":"c","message":{"value":"No."}}}
            --b 1--
            """)
        var batch = ODataBatch(service.connection)
        let page = try batch.page(of: service.students.filter { $0.gpa > 3.5 })
        var (made, gone, lost):
            (ODataBatch.Pending<AdmissionsService.State>?, ODataBatch.Pending<Void>?, ODataBatch.Pending<Void>?)
        try batch.changes {
            made = try $0.create(.init(stateCode: "XX", name: "--set-of-changes--\n"), in: service.states)
            gone = try $0.delete(.init(studentID: 9), in: service.students)
        }
        try batch.changes { lost = try $0.delete(.init(studentID: 8), in: service.students) }
        let answers = try await batch.send()
        #expect(try answers.value(of: page).entities.map(\.studentID) == [1])
        #expect(try answers.value(of: try #require(made)).name == "--c\n")
        try answers.value(of: try #require(gone))
        let error = #expect(throws: ClientError.self) { try answers.value(of: try #require(lost)) }
        #expect(error == .refused(Refusal(status: 412, code: "c", message: "No.")))
        let text = String(decoding: asked.requests[0].body ?? [], as: UTF8.self)
        #expect(text.contains("GET Students?$filter=GPA%20gt%203.5M HTTP/1.1\r\n"))
        #expect(
            text.contains("Content-ID: 2\r\n\r\nPOST States HTTP/1.1\r\n")
                && text.contains("DELETE Students(9) HTTP/1.1"))
        #expect(text.components(separatedBy: "\r\n--set-of-changes--\r\n").count == 3, "no value ends a set")
    }

    @Test("that is cut off is not half an answer")
    func cut() async throws {
        let (service, _) = service("--b 1\nContent-Type: application/http\n\nHTTP/1.1 200 OK\n\n{}\n")
        var batch = ODataBatch(service.connection)
        _ = try batch.page(of: service.students)
        await #expect(throws: ClientError.unreadableAnswer("a batch that is cut off")) { try await batch.send() }
    }
}

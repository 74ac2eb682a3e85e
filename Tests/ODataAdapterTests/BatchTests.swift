import AdapterKit
import Foundation
import Testing

@testable import ODataAdapter

/// Batches in JSON and in multipart bodies.
@Suite struct ODataBatchTests {
    private func batch(
        _ service: ReferenceService, _ requests: [WireValue], _ headers: MountHeaders = [:]
    ) async throws -> [WireValue] {
        let answer = try await service.send("POST", "$batch", ["requests": .array(requests)], headers: headers)
        #expect(answer.status == 200, "\(answer)")
        return try #require(answer.json["responses"]?.arrayValue)
    }

    private func statuses(_ answers: [WireValue]) -> [Int64?] { answers.map { $0["status"]?.int64Value } }

    @Test(arguments: StoreKind.allCases)
    func `each request has its answer under its id`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let answers = try await batch(
            service,
            [
                ["id": "a", "method": "GET", "url": "Products?$top=1"],
                ["id": "b", "method": "get", "url": "Categories/$count"],
                ["id": "c", "method": "GET", "url": "/odata/v4/reference/Company"],
                ["id": "d", "method": "GET", "url": "https://portico.example/odata/v4/reference/Company/Name/$value"],
                ["id": "e", "method": "GET", "url": "$batch"],
            ])
        #expect(answers.map { $0["id"] } == ["a", "b", "c", "d", "e"])
        #expect(statuses(answers) == [200, 200, 200, 200, 400])
        #expect(answers[0]["body"]?["value"]?.arrayValue?.count == 1)
        #expect(answers[1]["body"] == "3" && answers[3]["body"] == "TechStore Inc.")
        #expect(answers[0]["headers"]?["content-type"]?.stringValue?.contains("json") == true)
    }

    @Test(arguments: StoreKind.allCases)
    func `requests after a failure are made unless the client says otherwise`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let requests: [WireValue] = [
            ["id": "a", "method": "GET", "url": "Nothing"], ["id": "b", "method": "GET", "url": "Categories"],
        ]
        #expect(statuses(try await batch(service, requests)) == [404, 200])
        #expect(statuses(try await batch(service, requests, ["Prefer": "continue-on-error=false"])) == [404, 424])
    }

    @Test(arguments: StoreKind.allCases)
    func `what depends on a failure is not made`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let answers = try await batch(
            service,
            [
                ["id": "a", "method": "GET", "url": "Nothing"],
                ["id": "b", "method": "POST", "url": "Categories", "body": ["Name": "Never"], "dependsOn": ["a"]],
                ["id": "c", "method": "GET", "url": "Categories", "dependsOn": ["b"]],
                ["id": "d", "method": "GET", "url": "Categories"],
            ])
        #expect(statuses(answers) == [404, 424, 424, 200])
        #expect(try await service.get("Categories/$count").text == "3")
    }

    @Test(arguments: StoreKind.allCases)
    func `an atomicity group happens whole or not at all`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let product: WireValue = ["Name": "Half", "Price": 1]
        let failed = try await batch(
            service,
            [
                ["id": "a", "atomicityGroup": "g", "method": "POST", "url": "Products", "body": product],
                [
                    "id": "b", "atomicityGroup": "g", "method": "DELETE",
                    "url": "Products(00000000-0000-0000-0000-000000000000)",
                ],
                ["id": "c", "method": "GET", "url": "Products/$count", "dependsOn": ["g"]],
            ])
        #expect(statuses(failed) == [424, 404, 424])
        #expect(try await service.names("Products?$filter=Name eq 'Half'").isEmpty)
        let done = try await batch(
            service,
            [
                ["id": "a", "atomicityGroup": "g", "method": "POST", "url": "Categories", "body": ["Name": "Games"]],
                [
                    "id": "b", "atomicityGroup": "g", "method": "POST", "url": "Products",
                    "body": ["Name": "Chess", "Price": 20, "Category@odata.bind": "$a"],
                ],
                ["id": "c", "atomicityGroup": "g", "method": "PATCH", "url": "$b", "body": ["Price": 25]],
                ["id": "d", "method": "GET", "url": "$b/Category", "dependsOn": ["g"]],
            ])
        #expect(statuses(done) == [201, 201, 204, 200])
        #expect(done[0]["atomicityGroup"] == "g" && done[3]["body"]?["Name"] == "Games")
        #expect(
            try await service.get("Products?$filter=Name eq 'Chess'").json["value"]?.arrayValue?.first?["Price"]?
                .doubleValue == 25)
    }

    @Test(arguments: StoreKind.allCases)
    func `bodies that are no batch are refused`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        #expect(try await batch(service, []).isEmpty)
        let same: WireValue = ["id": "a", "method": "GET", "url": "x"]
        let wrong: [WireValue] = [
            [:], [], ["requests": 1], ["requests": [["id": "a"]]], ["requests": [same, same]],
            ["requests": [["id": "a", "method": "GET"]]],
        ]
        for body in wrong { #expect(try await service.send("POST", "$batch", body).status == 400, "\(body)") }
        #expect(try await service.get("$batch").status == 405)
        #expect(
            try await service.send("POST", "$batch", ["requests": []], headers: ["OData-MaxVersion": "4.0"]).status
                == 400)
        #expect(
            try await service.send("POST", "$batch", body: [], headers: ["Content-Type": "text/html"]).status == 415)
    }

    @Test(arguments: StoreKind.allCases)
    func `a batch has as many requests as the limit and no more`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind, limits: ["batchRequests": 2])
        let requests: [WireValue] = (0..<3).map { ["id": .string("\($0)"), "method": "GET", "url": "Company"] }
        #expect(statuses(try await batch(service, Array(requests.prefix(2)))) == [200, 200])
        let more = try await service.send("POST", "$batch", ["requests": .array(requests)])
        #expect(more.status == 400 && more.json["error"]?["code"] == "request.limitExceeded")
        let narrow = try await ReferenceService(kind, limits: ["batchPart": 200])
        let get = "GET Categories HTTP/1.1\r\n\r\n"
        #expect(try await multipart(narrow, part(get) + "--b--").status == 200)
        let long = part("GET Categories?$filter=Name%20ne%20'\(String(repeating: "a", count: 200))' HTTP/1.1\r\n\r\n")
        let refused = try await multipart(narrow, long + "--b--")
        #expect(refused.status == 400 && refused.text.contains("request.limitExceeded"), "\(refused)")
    }

    private func multipart(
        _ service: ReferenceService, _ body: String, _ headers: MountHeaders = [:],
        root: String = ReferenceService.version4
    ) async throws -> ServiceResponse {
        var headers = headers
        headers["Content-Type"] = "multipart/mixed; boundary=b"
        return try await service.send("POST", "$batch", body: Array(body.utf8), headers: headers, root: root)
    }

    private func part(_ request: String, _ boundary: String = "b", _ more: String = "") -> String {
        "--\(boundary)\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\(more)\r\n\(request)\r\n"
    }

    private func changeSet(_ requests: [String]) -> String {
        let parts = requests.enumerated().map { part($1, "c", "Content-ID: \($0 + 1)\r\n") }.joined()
        return "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n\(parts)--c--\r\n--b--\r\n"
    }

    private func write(_ method: String, _ url: String, _ json: String) -> String {
        "\(method) \(url) HTTP/1.1\r\nContent-Type: application/json\r\n\r\n\(json)"
    }

    @Test(arguments: StoreKind.allCases)
    func `parts are answered in their order, up to the first failure`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let body =
            part("GET Products?$top=1 HTTP/1.1\r\nAccept: application/json\r\n\r\n")
            + part("GET Nothing HTTP/1.1\r\n\r\n")
            + part("GET Categories HTTP/1.1\r\n\r\n") + "--b--"
        let all = try await multipart(service, body, ["Prefer": "odata.continue-on-error"])
        #expect(all.headers["Content-Type"]?.hasPrefix("multipart/mixed") == true)
        #expect(all.text.components(separatedBy: "HTTP/1.1 200").count == 3)
        #expect(all.text.components(separatedBy: "HTTP/1.1 404").count == 2)
        let head = "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 200 "
        #expect(all.text.contains(head), "\(all)")
        let first = try await multipart(service, body)
        #expect(first.text.components(separatedBy: "HTTP/1.1 200").count == 2)
        let feeds = try await multipart(service, body.replacingOccurrences(of: "\r\n", with: "\n"))
        #expect(feeds.text.contains("HTTP/1.1 200"))
    }

    @Test(arguments: StoreKind.allCases)
    func `a change set is one transaction whose requests refer to each other`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let create = write("POST", "Products", "{\"Name\":\"Kite\",\"Price\":9}")
        let done = try await multipart(
            service, changeSet([create, write("PATCH", "$1", "{\"Price\":8}"), "GET $1 HTTP/1.1\r\n\r\n"]))
        #expect(done.text.contains("HTTP/1.1 201") && done.text.contains("Content-ID: 2"), "\(done)")
        #expect(try await service.get("\(try await service.product("Kite"))/Price/$value").text == "8")
        let lost = create.replacingOccurrences(of: "Kite", with: "Lost")
        let failed = try await multipart(service, changeSet([lost, write("PATCH", "$99", "{\"Price\":8}")]))
        #expect(failed.text.contains("HTTP/1.1 400") && !failed.text.contains("HTTP/1.1 201"))
        let twice = changeSet([lost, lost]).replacingOccurrences(of: "Content-ID: 2", with: "Content-ID: 1")
        #expect(try await multipart(service, twice).text.contains("HTTP/1.1 400"))
        #expect(try await service.names("Products?$filter=Name eq 'Lost'").isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `one entity is changed twice in a change set`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let laptop = try await service.product("Laptop")
        let answer = try await multipart(
            service,
            changeSet([
                write("PATCH", laptop, "{\"Rating\":7,\"Quantity\":1}"), write("PATCH", laptop, "{\"Quantity\":2}"),
            ]))
        #expect(answer.text.components(separatedBy: "HTTP/1.1 204").count == 3, "\(answer)")
        let changed = try await service.get(laptop).json
        #expect(changed["Rating"] == 7 && changed["Quantity"] == 2)
    }

    @Test(arguments: StoreKind.allCases)
    func `multipart bodies that end early or begin elsewhere are refused`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let get = "GET Categories HTTP/1.1\r\n\r\n"
        for body in ["", "--b\r\nINVALID\r\n--b--", part(get), part(get, "other") + "--other--"] {
            #expect(try await multipart(service, body).status == 400, "\(body)")
        }
        let none = try await service.send(
            "POST", "$batch", body: Array("--b--".utf8), headers: ["Content-Type": "multipart/mixed"])
        #expect(none.status == 400)
    }

    @Test(arguments: StoreKind.allCases, [ReferenceService.version4, ReferenceService.version2])
    func `a batch has no batches in it, however they are addressed`(kind: StoreKind, root: String) async throws {
        let service = try await ReferenceService(kind)
        let inner = part("GET Categories HTTP/1.1\r\n\r\n", "z") + "--z--"
        for address in ["$batch", "%24batch", "%24%62atch", "$batch?a=b", root + "$batch", "\(root)%24batch"] {
            let nested = "POST \(address) HTTP/1.1\r\nContent-Type: multipart/mixed; boundary=z\r\n\r\n\(inner)"
            for body in [part(nested) + "--b--", changeSet([nested])] {
                let answer = try await multipart(service, body, root: root)
                #expect(
                    answer.text.contains("HTTP/1.1 400") && !answer.text.contains("HTTP/1.1 20"), "\(address) \(answer)"
                )
            }
        }
    }

    @Test func `what is below a root is found where the root came with escapes`() {
        for root in ["/odata/v4/reference", "/odata/v4/%72eference", "/%6F%64ata/v4/reference"] {
            #expect(RootedTarget.relative("\(root)/Products?$top=1", below: "/odata/v4/reference") == "Products?$top=1")
            #expect(RootedTarget.relative("\(root)?$format=json", below: "/odata/v4/reference") == "?$format=json")
            #expect(RootedTarget.relative(root, below: "/odata/v4/reference").isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `version 2 has batches with change sets too`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let create =
            "POST Categories HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json\r\n\r\n{\"Name\":\"Games\"}"
        let answer = try await multipart(
            service,
            changeSet([create]).replacingOccurrences(of: "--b--", with: "")
                + part("GET Categories?$format=json HTTP/1.1\r\n\r\n") + "--b--",
            root: ReferenceService.version2)
        #expect(answer.status == 202, "\(answer)")
        #expect(answer.text.contains("HTTP/1.1 201") && answer.text.contains("HTTP/1.1 200"))
        #expect(try await service.get("Categories/$count").text == "4")
        let json = try await service.send("POST", "$batch", ["requests": []], root: ReferenceService.version2)
        #expect(json.status == 415)
    }
}

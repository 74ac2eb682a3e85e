import AdapterKit
import Testing
import WireFormats

@testable import StandInService

@Suite struct SystemOfRecordTests {
    private static func system(_ employees: Int = 25, honoursKeys: Bool = true) -> SystemOfRecord {
        var settings = SystemOfRecord.Settings()
        (settings.employees, settings.users, settings.verses, settings.run) = (employees, 5, 3, "r1")
        settings.honoursKeys = honoursKeys
        settings.students = 5
        return SystemOfRecord(settings)
    }

    private static let employee = #"{"firstName":"Ann","lastName":"Åström","division":"Design"}"#

    @Test func `the rows of a seed are the same each time, and those of another seed differ`() {
        let rows = (0..<50).map { Employee(generatedAt: $0, of: 50, seed: 1) }
        #expect(rows == (0..<50).map { Employee(generatedAt: $0, of: 50, seed: 1) })
        #expect(rows != (0..<50).map { Employee(generatedAt: $0, of: 50, seed: 2) })
        #expect(Set(rows.map(\.email)).count == 50 && Set(rows.map(\.id)).count == 50)
        #expect(rows.prefix(2).allSatisfy { $0.firstName == "John" && $0.lastName == "Doe" })
    }

    @Test func `offsets, links and cursors each visit every employee once`() throws {
        var system = Self.system()
        _ = try system.send("DELETE", "/employees/E100003")
        for start in ["/employees?offset=0&limit=7", "/employees?limit=7"] {
            var ids: [String] = []
            var next: String? = start
            while let target = next {
                let answer = try system.send("GET", target)
                let document = try answer.json()
                ids += (document["employees"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue }
                #expect(document["totalRows"]?.int64Value == 24)
                next = answer.fields["Link"].map { String($0.dropFirst().prefix { $0 != ">" }) }
            }
            #expect(ids == (0..<25).filter { $0 != 3 }.map { "E\(100_000 + $0)" })
        }
    }

    @Test func `a change token brings what changed since, page by page, and is refused by another run`() throws {
        var system = Self.system()
        let token = try #require(try system.send("GET", "/employees?limit=1").json()["changeToken"]?.stringValue)
        #expect(system.change(.init(count: 3)) == 3)
        _ = try system.send("DELETE", "/employees/E100001")
        _ = try system.send("POST", "/employees", Self.employee)
        var (changed, deleted): (Set<String>, Set<String>) = ([], [])
        var next = token
        while true {
            let page = try system.send("GET", "/employees?changedSince=\(next)&limit=2").json()
            changed.formUnion((page["employees"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue })
            deleted.formUnion((page["deleted"]?.arrayValue ?? []).compactMap { $0.stringValue })
            next = try #require(page["changeToken"]?.stringValue)
            if page["isComplete"] == true { break }
        }
        #expect(changed == ["E100000", "E100002", "E100025"] && deleted == ["E100001"])
        #expect(try system.send("GET", "/employees?changedSince=\(next)").json()["employees"] == [])
        #expect(try system.send("GET", "/employees?changedSince=r2-0").status == 410)
        #expect(try system.send("GET", "/employees?changedSince=r1-99").status == 410)
        #expect(try system.send("GET", "/employees?changedSince=x").status == 400)
    }

    @Test func `an answer that is known is 304 until something changes`() throws {
        for (path, table) in [
            ("/employees", SystemOfRecord.Changes.Table.employees), ("/v1/list", .users), ("/plists/sonnets", .sonnets),
        ] {
            var system = Self.system()
            let tag = try #require(try system.send("GET", path).fields["ETag"])
            let again = try system.send("GET", path, fields: [("If-None-Match", tag)])
            #expect(again.status == 304 && again.body.isEmpty)
            _ = system.change(.init(count: 1, table: table))
            #expect(try system.send("GET", path, fields: [("If-None-Match", tag)]).status == 200)
        }
    }

    @Test func `the mobile contract's search pages by division, both ways, with numbers as texts too`() throws {
        var system = Self.system()
        // A division that comes first, and one that comes last.
        _ = try system.send("PUT", "/employees/E100020", Self.employee.replacing("Design", with: "Aardvarks"))
        _ = try system.send("PUT", "/employees/E100002", Self.employee.replacing("Design", with: "Zoo"))
        func emails(_ order: String) throws -> [String] {
            var found: [String] = []
            for page in 0..<10 {
                let body = #"{"division":"","order":"\#(order)","rowsPerPage":"7","pageIndex":\#(page),"fullName":""}"#
                let answer = try system.send("POST", "/OrganizationInterfaceImplMobile/employeeSearch", body).json()
                #expect(answer["totalRows"]?.int64Value == 25)
                let rows = answer["employees"]?.arrayValue ?? []
                found += rows.compactMap { row in row["division"]?.stringValue.map { "\($0) \(row)" } }
            }
            return found
        }
        let ascending = try emails("ASC")
        let descending = try emails("DESC")
        #expect(ascending.count == 25 && descending == ascending.reversed())
        let divisions = ascending.map { $0.prefix { $0 != " " } }
        #expect(divisions == divisions.sorted() && divisions.first == "Aardvarks" && divisions.last == "Zoo")
    }

    @Test func `names are found by the beginnings of their words, whatever the case and accents`() throws {
        var system = Self.system()
        _ = try system.send("POST", "/employees", Self.employee)
        func total(_ body: String) throws -> Int64? {
            try system.send("POST", "/iPhoneServicesModuleWeb/OrganizationInterfaceImplMobile/employeeSearch", body)
                .json()["totalRows"]?.int64Value
        }
        #expect(try total(#"{"fullName":"John Doe"}"#) == 2)
        #expect(try total(#"{"fullName":"astr ANN"}"#) == 1)
        #expect(try total(#"{"fullName":"ström"}"#) == 0)
        #expect(try total(#"{"fullName":"John Doe","division":"Accounting"}"#) == 2)
        #expect(try total(#"{"division":"No such"}"#) == 0)
        for body in [#"{"rowsPerPage":"ten"}"#, #"{"pageIndex":true}"#, #"{"order":"UP"}"#, "[]", "{"] {
            let answer = try system.send("POST", "/OrganizationInterfaceImplMobile/employeeSearch", body)
            #expect(answer.status == 400 && answer.body.contains(bytesOf: "errorCode"))
        }
        let wrong = try system.send("GET", "/OrganizationInterfaceImplMobile/employeeSearch")
        #expect(wrong.status == 405 && wrong.fields["Allow"] == "POST")
    }

    @Test func `a write with a known idempotency key is answered again and applied once`() throws {
        var system = Self.system()
        let first = try system.send("POST", "/employees", Self.employee, [("Idempotency-Key", "k1")])
        let again = try system.send("POST", "/employees", Self.employee, [("Idempotency-Key", "k1")])
        #expect(first.status == 201 && again == first && system.employees.count == 26)
        let other = try system.send("POST", "/employees", Self.employee + " ", [("Idempotency-Key", "k1")])
        #expect(other.status == 422)
        let ledger = try system.send("GET", "/ledger").json()
        #expect(ledger["total"] == 1 && ledger["repeats"] == 1)
        #expect(ledger["writes"]?.arrayValue?.first?["idempotencyKey"] == "k1")
    }

    @Test func `where keys are not honoured, each write is applied`() throws {
        var system = Self.system(honoursKeys: false)
        for _ in 0..<2 { _ = try system.send("POST", "/employees", Self.employee, [("Idempotency-Key", "k1")]) }
        #expect(system.employees.count == 27)
        #expect(try system.send("GET", "/ledger").json()["total"] == 2)
    }

    @Test func `refused writes change nothing and are not in the ledger`() throws {
        var system = Self.system()
        let tag = try #require(try system.send("GET", "/employees/E100004").fields["ETag"])
        let refusals: [(String, String, String, [(String, String)], Int)] = [
            ("POST", "/employees", #"{"firstName":"A"}"#, [], 400),
            ("POST", "/employees", #"{"firstName":"","lastName":"B","division":"C"}"#, [], 422),
            ("PUT", "/employees/E900000", Self.employee, [], 422),
            ("PUT", "/employees/E100004", Self.employee, [("If-Match", "\"other\"")], 412),
            ("PUT", "/employees/E100004", Self.employee, [("If-None-Match", "*")], 412),
            ("DELETE", "/employees/E999999", "", [], 404), ("PATCH", "/employees/E100004", "{}", [], 405),
        ]
        for (method, path, body, fields, status) in refusals {
            #expect(try system.send(method, path, body, fields).status == status, "\(method) \(path) \(body)")
        }
        #expect(system.employees.revision == 0 && system.applied.total == 0)
        #expect(try system.send("PUT", "/employees/E100004", Self.employee, [("If-Match", tag)]).status == 200)
        #expect(try system.send("PUT", "/employees/mine", Self.employee).status == 201)
        #expect(try system.send("DELETE", "/employees/mine").status == 204)
        #expect(try system.send("GET", "/employees/mine").status == 404)
        #expect(try system.send("PUT", "/employees/mine", Self.employee).status == 201)
    }

    @Test func `users are the contract's documents, and take its detail document`() throws {
        var system = Self.system()
        let list = try system.send("GET", "/v2/list").text
        #expect(list.contains("<entry><UserId>100</UserId><UserName>Fake 1</UserName></entry>"))
        #expect(!list.contains("ShoeSize") && list.contains("http://captechventures.com/schema"))
        #expect(try system.send("GET", "/v1/list").text.contains("<ShoeSize>8.5M</ShoeSize>"))
        let document =
            #"<user xmlns="http://captechventures.com/schema"><UserId>101</UserId><UserName>A&amp;B ‹é></UserName>"#
            + "<ShoeSize>9W</ShoeSize></user>"
        #expect(try system.send("PUT", "/v2/user/101", document).status == 200)
        #expect(try system.send("GET", "/v2/101").text.contains("<UserName>A&amp;B ‹é&gt;</UserName>"))
        #expect(try system.send("PUT", "/v2/user/102", document).status == 422)
        #expect(try system.send("PUT", "/v2/user/110", document.replacing("101", with: "110")).status == 201)
        #expect(try system.send("GET", "/v2/user/109").status == 404)
        #expect(try system.send("DELETE", "/v2/user/110").status == 204)
        #expect(try system.send("GET", "/v2/abc").status == 400)
    }

    @Test func `the feed is a property list of numbered verses`() throws {
        var system = Self.system()
        let document = try XMLPropertyListFormat().read(try system.send("GET", "/plists/sonnets").body)
        let verses = try #require(document["verses"]?.arrayValue)
        #expect(verses.compactMap { $0.arrayValue?.first?.stringValue } == ["I", "II", "III"])
        #expect([4, 9, 14, 154, 1_994].map(Sonnets.numeral) == ["IV", "IX", "XIV", "CLIV", "MCMXCIV"])
        _ = system.change(.init(count: 1, table: .sonnets))
        #expect(try system.send("GET", "/plists/sonnets").text.contains("(revision 1)"))
    }

    @Test func `changes add, update and delete as many rows as there are`() throws {
        for table in SystemOfRecord.Changes.Table.allCases {
            var system = Self.system(4)
            let count = { (system: SystemOfRecord) in
                switch table {
                case .employees: system.employees.count
                case .users: system.users.count
                case .sonnets: system.verses.count
                case .students: (try? system.admissions.rows().count()) ?? 0
                }
            }
            let before = count(system)
            #expect(system.change(.init(count: 2, table: table, kind: .add)) == 2 && count(system) == before + 2)
            #expect(system.change(.init(count: 3, table: table, kind: .delete)) == 3 && count(system) == before - 1)
            #expect(system.change(.init(count: 99, table: table)) == before - 1)
            #expect(system.change(.init(count: 99, table: table, kind: .delete)) == before - 1 && count(system) == 0)
            #expect(system.change(.init(count: 1, table: table)) == 0)
        }
    }

    @Test func `a million rows are there at once, and any page of them`() throws {
        var system = Self.system(1_000_000)
        let page = try system.send("GET", "/employees?offset=999999&limit=5").json()
        #expect(page["employees"]?.arrayValue?.first?["id"] == "E1099999" && page["nextCursor"] == nil)
        let body = #"{"rowsPerPage":1,"pageIndex":999999}"#
        let found = try system.send("POST", "/OrganizationInterfaceImplMobile/employeeSearch", body).json()
        #expect(found["employees"]?.arrayValue?.first?["email"] == "e1099999@example.com")
    }

    @Test func `what is asked with nonsense is refused, not failed`() throws {
        var system = Self.system()
        for target in [
            "/employees?limit=0", "/employees?limit=999999999999999999999", "/employees?offset=-1",
            "/employees?cursor=-5", "/employees?cursor=x", "/ledger?after=-1", "/employees/E-9223372036854775808",
            "/employees?changedSince=r1--9223372036854775808", "/v2/user/-2147483648", "/v2/user/99999999999",
            "/nothing", "/employees/a/b",
        ] {
            let answer = try system.send("GET", target)
            #expect((400...410).contains(answer.status), "\(target): \(answer.status)")
        }
        #expect(try system.send("GET", "/employees?cursor=9223372036854775807").json()["employees"] == [])
        #expect(ServiceRequest(method: "GET", target: "/%zz") == nil)
        #expect(ServiceRequest(method: "GET", target: "*") == nil)
    }

    @Test(arguments: [true, false])
    func `a message is there once for its id, where ids are honoured, and pages go backwards`(honoursKeys: Bool) throws
    {
        var system = Self.system(honoursKeys: honoursKeys)
        func ask(_ request: String, status: Int = 200) throws -> WireValue {
            let answer = try system.send("POST", "/chat", "post=" + request)
            #expect(answer.status == status)
            return try answer.json()
        }
        for _ in 0..<2 {
            let answer = try ask(#"{"function":"postmessage","room":"r1","user":"ann","id":"x","text":"a&b+c%20d"}"#)
            #expect(answer["message"]?["text"] == "a&b+c%20d")
            #expect((answer["message"]?["id"] == "x") == honoursKeys)
        }
        _ = try ask("%7B%22function%22%3A%22postmessage%22%2C%22room%22%3A%22r1%22%2C%22text%22%3A%22b+c%22%7D")
        let count = honoursKeys ? 2 : 3
        let all = try ask(#"{"function":"getmessages","room":"r1"}"#)["messages"]?.arrayValue ?? []
        #expect(all.count == count && all.last?["text"] == "b c")
        let last = try #require(all.last?["seq"]?.int64Value)
        let page = try ask(#"{"function":"getmessages","room":"r1","limit":1,"before":\#(last)}"#)["messages"]?
            .arrayValue
        #expect(page == [all[count - 2]])
        _ = try ask(#"{"function":"getmessages","room":"r9"}"#, status: 404)
        _ = try ask("not-json", status: 400)
        if honoursKeys {
            _ = try ask(#"{"function":"postmessage","room":"r1","user":"ben","id":"x","text":"other"}"#, status: 409)
        }
    }
}

extension SystemOfRecord {
    mutating func send(
        _ method: String, _ target: String, _ body: String = "", _ fields: [(String, String)] = []
    ) throws -> ServiceResponse {
        let request = try #require(
            ServiceRequest(
                method: method, target: target, fields: fields.map { (name: $0.0, value: $0.1) }, body: Array(body.utf8)
            ))
        return respond(to: request)
    }

    mutating func send(_ method: String, _ target: String, fields: [(String, String)]) throws -> ServiceResponse {
        try send(method, target, "", fields)
    }
}

extension ServiceResponse {
    func json() throws -> WireValue { try JSONFormat().read(body) }
    var text: String { String(decoding: body, as: UTF8.self) }
}

extension [UInt8] {
    func contains(bytesOf text: String) -> Bool { String(decoding: self, as: UTF8.self).contains(text) }
}

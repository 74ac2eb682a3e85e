import Foundation
import Testing

@testable import Client

private typealias Student = AdmissionsService.Student

@Suite("A typed query")
struct ODataWordingTests {
    private func filter(
        _ version: ODataVersion = .v4, _ condition: (Student.Fields) -> ODataCondition
    ) throws -> String {
        try ODataSyntax(version: version).condition(condition(Student.Fields(.root)).expression)
    }

    @Test("is written in version 4's words")
    func version4() throws {
        #expect(
            try filter { $0.gpa > 3.5 && $0.school.stateCode == "OH" } == "(GPA gt 3.5) and (School/StateCode eq 'OH')")
        #expect(
            try filter { !($0.email == nil) || $0.lastName.startsWith("O'N") }
                == "not (Email eq null) or startswith(LastName,'O''N')")
        #expect(
            try filter { $0.firstName.lowercased.contains("jo") && $0.lastName.length >= 4 }
                == "contains(tolower(FirstName),'jo') and (length(LastName) ge 4)")
        #expect(try filter { $0.gpa * 2 < 7.3 } == "(GPA mul 2) lt 7.3")
        #expect(try filter { $0.birthDate >= ODataDate(year: 2008, month: 2, day: 29)! } == "BirthDate ge 2008-02-29")
        #expect(try filter { $0.registered.year == 2026 } == "year(Registered) eq 2026")
        #expect(try filter { $0.status.isOne(of: ["A", "B"]) } == "(Status eq 'A') or (Status eq 'B')")
        #expect(try filter { $0.status.isOne(of: []) } == "true eq false")
        #expect(try filter { $0.firstName == $0.lastName } == "FirstName eq LastName")
        #expect(try filter { $0.visits.count > 2 } == "Visits/$count gt 2")
    }

    @Test("names the variables of nested conditions so that none hides another")
    func lambdas() throws {
        let text = try filter { student in
            student.visits.any { visit in
                visit.interest > 5 && student.appointments.all { $0.counselorID == visit.counselorID }
            }
        }
        #expect(text == "Visits/any(x1:(x1/Interest gt 5) and Appointments/all(x2:x2/CounselorID eq x1/CounselorID))")
    }

    @Test("is written in version 2's words, and refused where that has none")
    func version2() throws {
        #expect(
            try filter(.v2) { $0.gpa > 3.5 && $0.lastName.contains("x") }
                == "(GPA gt 3.5M) and substringof('x',LastName)")
        let moment = ODataDateTime(
            utc: ODataLocalDateTime(ODataDate(year: 2026, month: 11, day: 21)!, seconds: 0), offset: 60)
        #expect(
            try filter(.v2) { $0.registered < moment }
                == "Registered lt datetimeoffset'2026-11-21T01:00:00+01:00'")
        #expect(
            try filter(.v2) { $0.birthDate == ODataDate(year: 2008, month: 2, day: 29)! }
                == "BirthDate eq datetime'2008-02-29T00:00:00'")
        for condition: (Student.Fields) -> ODataCondition in [
            { $0.visits.any { $0.interest > 5 } }, { $0.visits.count > 2 },
        ] {
            #expect(throws: ClientError.self) { try filter(.v2, condition) }
        }
    }

    @Test("puts options where its version has them")
    func options() throws {
        let query = ODataQuery<Student>().orderBy { $0.gpa.descending }.orderBy { $0.lastName }.top(5).skip(2)
            .select { [$0.lastName] }.expand({ $0.school }, with: { $0.select { [$0.name] } })
        func written(_ version: ODataVersion) throws -> [String] {
            try ODataSyntax(version: version).options(query.options, keys: ["StudentID"]).map {
                "\($0.name)=\($0.value)"
            }
        }
        let common = ["$orderby=GPA desc,LastName", "$top=5", "$skip=2"]
        #expect(try written(.v4) == common + ["$select=StudentID,LastName", "$expand=School($select=Name)"])
        #expect(try written(.v2) == common + ["$select=StudentID,LastName,School/Name", "$expand=School"])
        let nested = ODataQuery<Student>().expand({ $0.visits }, with: { $0.filter { $0.interest > 5 }.top(3) }).search(
            "a \"b\" OR c")
        #expect(
            try ODataSyntax(version: .v4).options(nested.options).map(\.value)
                == ["\"a \\\"b\\\" OR c\"", "Visits($filter=Interest gt 5;$top=3)"])
        #expect(throws: ClientError.self) { try ODataSyntax(version: .v2).options(nested.options) }
    }
}

@Suite("A value in a query")
struct ODataInjectionTests {
    private static let hostile = Array("''''ab()=,;&?#%+/\\\" \n\r\t\0:$@*<>|éß漢😀\u{2019}\u{FF07}\u{202E}")

    /// Texts that would like to be something else than texts.
    static func text(_ random: inout some RandomNumberGenerator) -> String {
        let fixed = [
            "' or 1 eq 1 or '", "'; DROP TABLE x --", "') or true eq (true", "%27", "%2527", "&$filter=true", "''", "'",
        ]
        if Int.random(in: 0..<4, using: &random) == 0 { return fixed.randomElement(using: &random)! }
        return String((0..<Int.random(in: 0..<20, using: &random)).map { _ in hostile.randomElement(using: &random)! })
    }

    /// What stands between the quotes at the beginning, and what follows them: by the ABNF's rule for `string` alone.
    static func unquoted(_ text: Substring) -> (value: String, rest: Substring)? {
        var scalars = text.unicodeScalars[...]
        guard scalars.popFirst() == "'" else { return nil }
        var value = String.UnicodeScalarView()
        while let scalar = scalars.popFirst() {
            guard scalar == "'" else {
                value.append(scalar)
                continue
            }
            guard scalars.first == "'" else { return (String(value), Substring(scalars)) }
            scalars.removeFirst()
            value.append("'")
        }
        return nil
    }

    @Test(
        "stays one, whatever is in it: in filters and in keys, in the text and in the address",
        arguments: [ODataVersion.v2, .v4])
    func texts(_ version: ODataVersion) throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let text = Self.text(&random)
            let condition = (Student.Fields(.root).lastName == text).expression
            let filter = try ODataSyntax(version: version).condition(condition)
            let found = try #require(Self.unquoted(filter.dropFirst("LastName eq ".count)), "\(text.debugDescription)")
            #expect(found.value.unicodeScalars.elementsEqual(text.unicodeScalars) && found.rest.isEmpty)
            let key = ODataKey(text).text(version)
            let inner = try #require(Self.unquoted(key.dropFirst()))
            #expect(inner.value.unicodeScalars.elementsEqual(text.unicodeScalars) && inner.rest == ")")
            try address(key, filter)
        }
    }

    /// One segment and one option, that mean what they were made of.
    private func address(_ key: String, _ filter: String) throws {
        let call = ServerCall(path: ["odata", "Students" + key], query: [(name: "$filter", value: filter)])
        let halves = call.target.split(separator: "?", omittingEmptySubsequences: false)
        #expect(halves.count == 2 && call.target.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") })
        let segments = halves[0].split(separator: "/", omittingEmptySubsequences: false)
        #expect(segments.count == 3 && String(segments[2]).removingPercentEncoding == "Students" + key)
        let value = halves[1].dropFirst("$filter=".count)
        #expect(!value.contains { "&=;+".contains($0) } && String(value).removingPercentEncoding == filter)
    }

    @Test("of another type is nothing but digits, letters and its own signs", arguments: [ODataVersion.v2, .v4])
    func others(_ version: ODataVersion) throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            let bytes = Data((0..<Int.random(in: 0..<30)).map { _ in UInt8.random(in: .min ... .max, using: &random) })
            let values: [any ODataPrimitive] = [
                bytes, UUID(), Int64.random(in: .min ... .max), Double(bitPattern: UInt64.random(in: .min ... .max)),
                Decimal(Int64.random(in: .min ... .max)) / 1000, Duration.nanoseconds(Int64.random(in: .min ... .max)),
                ODataDateTime(
                    utc: .init(seconds: Int.random(in: -9_000_000_000...9_000_000_000)), offset: .random(in: -840...840)
                ),
            ]
            for value in values {
                let text = value.literal.text(version)
                let marks = text.filter { $0 == "'" }.count
                #expect(marks == 0 || (marks == 2 && text.hasSuffix("'")), "\(text)")
                #expect(
                    text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "'-+.:_=".contains($0)) }, "\(text)")
            }
        }
    }
}

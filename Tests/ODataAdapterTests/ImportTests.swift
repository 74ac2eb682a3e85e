import AdapterKit
import Testing

/// The operators' import of a set's rows.
@Suite struct ImportTests {
    private func refusal(_ body: () async throws -> WireValue) async -> PorticoError? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error as? PorticoError
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `rows are appended, texts among them, all of them or none`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let rows: WireValue = [["Name": "Games"], ["Name": "Garden", "Description": "Green"]]
        #expect(try await service.load(rows, into: "Categories") == ["created": 2, "deleted": 0])
        #expect(try await service.get("Categories/$count").text == "5")
        let texts: WireValue = [["Name": "Texts", "Price": "12.5", "Rating": "7", "ReleaseDate": "2024-02-29"]]
        _ = try await service.load(texts, into: "Products")
        let made = try #require(try await service.rows("Products?$filter=Name eq 'Texts'").first)
        #expect(made["Price"]?.doubleValue == 12.5 && made["Rating"] == 7 && made["ReleaseDate"] == "2024-02-29")
        #expect(made["Version"] == 1 && made["ProductType"] == "Product")
        let special: WireValue = [
            ["Name": "Special", "Price": 1, "@odata.type": "#ComplianceService.SpecialProduct", "SpecialFeature": "x"]
        ]
        _ = try await service.load(special, into: "Products")
        #expect(
            try await service.rows("Products/ComplianceService.SpecialProduct?$filter=SpecialFeature eq 'x'").count == 1
        )
        let half: WireValue = [["Name": "Whole"], ["Name": "Games"]]
        #expect(await refusal { try await service.load(half, into: "Categories") }?.code == .recordExists)
        #expect(try await service.names("Categories?$filter=Name eq 'Whole'").isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `a set is replaced, and only looked at where the rows are to be checked`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind)
        let rows: WireValue = [["Name": "C"], ["Name": "D"], ["Name": "E"]]
        #expect(
            try await service.load(rows, into: "ReadOnlyItems", mode: "check") == [
                "created": 0, "deleted": 0, "kept": 0,
            ])
        #expect(try await service.get("ReadOnlyItems/$count").text == "2")
        #expect(try await service.load(rows, into: "ReadOnlyItems", mode: "replace") == ["created": 3, "deleted": 2])
        #expect(try await service.names("ReadOnlyItems?$orderby=Name") == ["C", "D", "E"])
        #expect(
            await refusal { try await service.load([], into: "ReadOnlyItems", mode: "replace") }?.code
                == .recordConflict)
        let none = try await service.load([], into: "ReadOnlyItems", mode: "replace", more: ["acceptLoss": true])
        #expect(none == ["created": 0, "deleted": 3])
    }

    @Test(arguments: StoreKind.allCases)
    func `a replacement that deletes most of a set is refused, later parts of the file counted`(kind: StoreKind)
        async throws
    {
        let service = try await ReferenceService(kind)
        func rows(_ range: Range<Int>) -> WireValue { .array(range.map { ["Name": .string("N\($0)")] }) }
        _ = try await service.load(rows(0..<40), into: "ReadOnlyItems", mode: "replace")
        let keys = try await service.rows("ReadOnlyItems?$top=40&$orderby=Name")
        func known(_ range: Range<Int>) -> WireValue {
            .array(keys[range].map { ["ID": $0["ID"] ?? .null, "Name": $0["Name"] ?? .null] })
        }
        #expect(try await service.load(known(0..<19), into: "ReadOnlyItems", mode: "check")["kept"] == 19)
        let error = await refusal { try await service.load(known(0..<19), into: "ReadOnlyItems", mode: "replace") }
        #expect(error?.code == .recordConflict && error?.message.contains("21 of 40") == true)
        #expect(try await service.get("ReadOnlyItems/$count").text == "40")
        let kept = try await service.load(known(0..<19), into: "ReadOnlyItems", mode: "replace", more: ["keeps": 1])
        #expect(kept == ["created": 19, "deleted": 40])
    }

    @Test(
        arguments: [
            (["Name"], nil), (["Nmae"], "did you mean `Name`?"), (["Name", "@odata.type"], nil),
            (["id;name"], "no field"),
        ] as [([String], String?)])
    func `columns of a CSV file are those of the set`(columns: [String], words: String?) async throws {
        let service = try await ReferenceService(.memory)
        let error = await refusal {
            try await service.load([], into: "Categories", more: ["columns": .array(columns.map { .string($0) })])
        }
        #expect((error == nil) == (words == nil))
        if let words { #expect(error?.message.contains(words) == true, "\(error!.message)") }
    }

    @Test(arguments: StoreKind.allCases)
    func `what cannot be loaded is named`(kind: StoreKind) async throws {
        let service = try await ReferenceService(kind, limits: ["importRows": 2])
        #expect(await refusal { try await service.load([], into: "Categories", service: "x") }?.target == "service")
        #expect(await refusal { try await service.load([], into: "Nothing") }?.target == "set")
        let many: WireValue = [["Name": "A"], ["Name": "B"], ["Name": "C"]]
        #expect(await refusal { try await service.load(many, into: "Categories") }?.code == .requestLimitExceeded)
        let wrong: [WireValue] = [
            [["Name": "A"], ["Name": 5]], [["Nothing": 1]], [["Description": "x"]], [1], [["Name": "A", "ID": "x"]],
        ]
        for rows in wrong {
            let error = await refusal { try await service.load(rows, into: "Categories") }
            #expect(error?.code == .requestInvalid, "\(rows): \(String(describing: error))")
        }
        let second = await refusal { try await service.load([["Name": "A"], ["Name": 5]], into: "Categories") }
        #expect(
            second?.message.contains("2") == true || second?.target?.contains("1") == true,
            "\(String(describing: second))")
        #expect(try await service.get("Categories/$count").text == "3")
    }
}

import AdapterKit
import Foundation
import SOAP
import Testing
import WireFormats

/// A description of `Fixtures`, what a call of it sends, and how its answer is understood.
struct DescriptionCase: Sendable, CustomTestStringConvertible {
    let file: String
    let operation: String
    let value: WireValue
    /// The content of the request's body.
    let request: String
    /// The content of an answer's body.
    let answer: String
    let answered: WireValue
    var version = SOAPVersion.soap11

    var testDescription: String { file }

    static func description(_ file: String) throws -> SOAPServiceDescription {
        let folder = try #require(Bundle.module.resourceURL).appendingPathComponent("Fixtures")
        return try SOAPServiceDescription(contentsOf: folder.appendingPathComponent(file).path)
    }

    static let all: [DescriptionCase] = [
        DescriptionCase(
            file: "orders-wrapped.wsdl", operation: "GetOrder", value: ["orderId": 7, "withLines": true],
            request:
                #"<GetOrder xmlns="http://orders.example/v1"><orderId>7</orderId><withLines>true</withLines></GetOrder>"#,
            answer: """
                <o:GetOrderResponse xmlns:o="http://orders.example/v1"><o:GetOrderResult><o:customer>A &amp; B</o:customer>
                <o:placed>2026-11-23T06:00:00Z</o:placed><o:total>12.50</o:total>
                <o:line><o:sku>x</o:sku><o:count>3</o:count></o:line></o:GetOrderResult></o:GetOrderResponse>
                """,
            answered: [
                "GetOrderResult": [
                    "customer": "A & B", "placed": .date(WireDate(secondsSinceReferenceDate: 817_106_400)),
                    "total": .decimal(WireDecimal("12.50")!), "line": [["sku": "x", "count": 3]],
                ]
            ]),
        DescriptionCase(
            file: "rates-bare.wsdl", operation: "rateOf", value: "CHF",
            request: #"<currency xmlns="urn:rates">CHF</currency>"#, answer: #"<rate xmlns="urn:rates"> 0.93 </rate>"#,
            answered: 0.93),
        DescriptionCase(
            file: "insurance/insurance.wsdl", operation: "policy", value: ["number": "A1"],
            request: #"<policyQuery xmlns="urn:insurance:data"><number>A1</number></policyQuery>"#,
            answer: """
                <d:policy xmlns:d="urn:insurance:data"><d:holder><name>Ann</name><policies>A1</policies></d:holder>\
                <d:kind>car</d:kind></d:policy>
                """, answered: ["holder": ["name": "Ann", "policies": ["A1"]], "kind": "car"]),
        DescriptionCase(
            file: "library/library.wsdl", operation: "find", value: "Ulysses",
            request: #"<find xmlns="urn:library">Ulysses</find>"#,
            answer: #"<found xmlns="urn:library"><book><title>Ulysses</title><year>1922</year></book></found>"#,
            answered: ["book": [["title": "Ulysses", "year": "1922"]]]),
        DescriptionCase(
            file: "vehicles-extension.wsdl", operation: "vehicleOf", value: "Ann",
            request: #"<vehicleOf xmlns="urn:vehicles">Ann</vehicleOf>"#,
            answer: """
                <v:vehicle xmlns:v="urn:vehicles" xsi:type="v:Lorry" plate="P 1"><wheels>6</wheels><doors>2</doors>\
                <tons>7.5</tons></v:vehicle>
                """, answered: ["@plate": "P 1", "wheels": 6, "doors": 2, "tons": 7.5]),
        DescriptionCase(
            file: "payments-choice.wsdl", operation: "pay",
            value: ["amount": 5, "card": ["until": "2027-01", "number": "4"]],
            request: """
                <pay xmlns="urn:payments"><amount>5</amount><card><number>4</number><until>2027-01</until></card></pay>
                """,
            answer:
                #"<paid xmlns="urn:payments"><receipt>a</receipt><warning>w</warning><receipt>b</receipt></paid>"#,
            answered: ["receipt": ["a", "b"], "warning": ["w"]]),
        DescriptionCase(
            file: "departments-recursive.wsdl", operation: "flatten",
            value: ["name": "a", "below": [["name": "b", "below": [["name": "c"]]], ["name": "d"]]],
            request: """
                <tree xmlns="urn:departments"><name>a</name><below><name>b</name><below><name>c</name></below></below>\
                <below><name>d</name></below></tree>
                """,
            answer: #"<node xmlns="urn:departments"><label>1</label><node><label>2</label></node></node>"#,
            answered: ["label": "1", "node": ["label": "2"]]),
        DescriptionCase(
            file: "prices-simplecontent.wsdl", operation: "convert", value: ["@currency": "EUR", "#text": 12],
            request: #"<convert xmlns="urn:prices" currency="EUR">12</convert>"#,
            answer: #"<converted xmlns="urn:prices" currency="USD" vat="19">+13.</converted>"#,
            answered: ["@currency": "USD", "@vat": 19, "#text": .decimal(WireDecimal("13")!)]),
        DescriptionCase(
            file: "notes-anytype.wsdl", operation: "store",
            value: ["key": "k", "content": ["a": 1, "b": ["x", true]]],
            request: """
                <store xmlns="urn:notes"><key>k</key><content><a>1</a><b>x</b><b>true</b></content></store>
                """,
            answer: #"<stored xmlns="urn:notes" at="now"><id>9</id><x xmlns="urn:other"><y>1</y></x></stored>"#,
            answered: ["@at": "now", "id": 9, "x": ["y": "1"]]),
        DescriptionCase(
            file: "shifts-lists.wsdl", operation: "plan",
            value: ["days": ["mon", "tue"], "hours": [8, 4], "team": 3],
            request:
                #"<plan xmlns="urn:shifts"><days xmlns="">mon tue</days><hours xmlns="">8 4</hours><team xmlns="">3</team></plan>"#,
            answer: "<s:planned xmlns:s=\"urn:shifts\">\n 1  2\n</s:planned>", answered: [1, 2]),
        DescriptionCase(
            file: "persons-nillable.wsdl", operation: "save", value: ["name": .null, "phone": ["1", .null]],
            request: """
                <save xmlns="urn:persons"><name xsi:nil="true"/><phone>1</phone><phone xsi:nil="true"/></save>
                """, answer: #"<saved xmlns="urn:persons" xsi:nil="1"/>"#, answered: .null),
        DescriptionCase(
            file: "sensors-attributes.wsdl", operation: "measure",
            value: ["@floor": 2, "@since": "2026-01-01T00:00:00"],
            request: #"<measure xmlns="urn:sensors" floor="2" since="2026-01-01T00:00:00"/>"#,
            answer: #"<s:measured xmlns:s="urn:sensors" s:unit="K"><s:value>INF</s:value></s:measured>"#,
            answered: ["@unit": "K", "value": "INF"]),
        DescriptionCase(
            file: "addresses-groups.wsdl", operation: "check", value: ["town": "Ulm", "street": "Weg"],
            request: #"<check xmlns="urn:addresses"><street>Weg</street><town>Ulm</town></check>"#,
            answer: #"<checked xmlns="urn:addresses"><score>1e2</score><valid>0</valid></checked>"#,
            answered: ["score": 100.0, "valid": false]),
        DescriptionCase(
            file: "namen-ungewoehnlich.wsdl", operation: "suche.person",
            value: ["straße": "Am \"Tor\" <1>", "_id-1": 1],
            request: """
                <suche.person xmlns="http://dienst.example/ns#1.0/ä"><straße>Am "Tor" &lt;1&gt;</straße><_id-1>1</_id-1>\
                </suche.person>
                """, answer: #"<名前 xmlns="http://dienst.example/ns#1.0/ä"><![CDATA[山]]>田</名前>"#, answered: "山田"),
        DescriptionCase(
            file: "translate-soap12.wsdl", operation: "translate", value: "yes",
            request: #"<text xmlns="urn:translate">yes</text>"#,
            answer: #"<translation xmlns="urn:translate">ja</translation>"#, answered: "ja", version: .soap12),
        DescriptionCase(
            file: "reports-forms.wsdl", operation: "report", value: ["from": "2026-01-01", "to": "2026-02-01"],
            request: """
                <report xmlns="urn:reports"><from xmlns="">2026-01-01</from><to>2026-02-01</to></report>
                """,
            answer: """
                <a:reported xmlns:a="urn:reports"><row><c:cell xmlns:c="urn:reports:rows">AQ I=</c:cell><hash>ff0A</hash></row>\
                </a:reported>
                """, answered: ["row": [["cell": .data([1, 2]), "hash": .data([255, 10])]]]),
        DescriptionCase(
            file: "upload-parts.wsdl", operation: "upload", value: ["name": "n", "bytes": .data([1, 2, 3])],
            request: #"<name xmlns="urn:upload">n</name><bytes xmlns="urn:upload">AQID</bytes>"#,
            answer: #"<done xmlns="urn:upload">1</done>"#, answered: true),
    ]
}

/// Descriptions of unlike style: of each what is called, what is sent and how the answer is read.
@Suite struct DescriptionFixtureTests {
    @Test(arguments: DescriptionCase.all)
    func aDescriptionIsReadAndItsOperationCalled(_ fixture: DescriptionCase) throws {
        let description = try DescriptionCase.description(fixture.file)
        let operation = try #require(description.operation(fixture.operation))
        #expect(description.problems(of: operation) == [])
        #expect(operation.version == fixture.version)
        #expect(operation.address.hasPrefix("http"))
        let sent = String(decoding: try operation.request(fixture.value, description.schema), as: UTF8.self)
        let body = try #require(sent.split(separator: "<soap:Body>").last?.split(separator: "</soap:Body>").first)
        #expect(body == fixture.request)

        let answer = """
            <e:Envelope xmlns:e="\(fixture.version.namespace)" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
            <e:Body>\(fixture.answer)</e:Body></e:Envelope>
            """
        let message = try SOAPMessage(Array(answer.utf8))
        #expect(try operation.readResponse(message, description.schema) == fixture.answered)
    }

    @Test func whatIsSentIsReadBackAsTheSameValue() throws {
        for fixture in DescriptionCase.all where fixture.file != "notes-anytype.wsdl" {
            let description = try DescriptionCase.description(fixture.file)
            let operation = try #require(description.operation(fixture.operation))
            let message = try SOAPMessage(try operation.request(fixture.value, description.schema))
            let written = try operation.request(fixture.value, description.schema)
            var reader = SOAPValueReader(description.schema)
            var values = WireDictionary()
            for (element, declared) in zip(message.body, operation.input) {
                values[element.name] = try reader.read(element, as: declared)
            }
            let value = operation.input.count == 1 ? values.entries[0].value : .dictionary(values)
            #expect(try operation.request(value, description.schema) == written, "\(fixture.file)")
        }
    }

    @Test(arguments: [
        ("weather-rpc.wsdl", "weather-rpc.wsdl:17: the operation forecast has the style rpc; document is called"),
        ("stocks-encoded.wsdl", "stocks-encoded.wsdl:21: the operation quote is encoded; literal is called"),
        ("header.wsdl", "header.wsdl:19: the operation ask asks for a header, which is not sent"),
    ])
    func anOperationThatCannotBeCalledIsNamedWithItsReason(_ file: String, _ reason: String) throws {
        let description = try DescriptionCase.description(file)
        #expect(description.operations.isEmpty)
        #expect(description.problems.map(\.description) == [reason])
    }

    @Test func whatIsNotMappedIsNamedAtItsPlace() throws {
        let description = try DescriptionCase.description("archive-unmapped.wsdl")
        let operation = try #require(description.operation("list"))
        #expect(
            Set(description.problems(of: operation).map(\.description)) == [
                "archive-unmapped.wsdl:6: arrays of SOAP's encoding are not mapped",
                "archive-unmapped.wsdl:7: mixed content is not mapped",
                "archive-unmapped.wsdl:8: the type Loop is derived from itself",
                "archive-unmapped.wsdl:9: there is no type {urn:archive}Nowhere",
            ])
        #expect(throws: SOAPValueProblem.self) {
            try operation.request(["files": "x", "text": "y", "loop": "z", "gone": "g"], description.schema)
        }
    }

    @Test(arguments: [
        ("escape.wsdl", "is no file in the folder"), ("remote.wsdl", "is no file in the folder"),
        ("version2.wsdl", "WSDL 2.0"), ("nowhere.wsdl", "cannot be read"),
    ])
    func aDescriptionThatLeadsAwayOrIsNoneIsRefused(_ file: String, _ reason: String) {
        #expect { try DescriptionCase.description(file) } throws: { error in
            "\(error)".contains(reason)
        }
    }

    @Test func aChoiceTakesOneMemberAndMissingMembersAreNamed() throws {
        let description = try DescriptionCase.description("payments-choice.wsdl")
        let operation = try #require(description.operation("pay"))
        #expect {
            try operation.request(
                ["amount": 1, "iban": "x", "card": ["number": "1", "until": "2027-01"]], description.schema)
        } throws: { ($0 as? SOAPValueProblem)?.path == "pay" }
        #expect { try operation.request(["iban": "x"], description.schema) } throws: {
            ($0 as? SOAPValueProblem)?.path == "pay.amount"
        }
    }
}

import AdapterKit
import Testing
import WireFormats

@testable import SOAP

@Suite struct SOAPMessageTests {
    private func envelope(_ version: SOAPVersion, header: String = "", _ body: String) -> [UInt8] {
        Array("<s:Envelope xmlns:s='\(version.namespace)'>\(header)<s:Body>\(body)</s:Body></s:Envelope>".utf8)
    }

    @Test(arguments: SOAPVersion.allCases)
    func aFaultIsReadAsItWasWritten(_ version: SOAPVersion) throws {
        for code in SOAPFault.Code.allCases {
            let written = version.fault(
                SOAPFault(code, "No <such> thing & more"), detail: QName("d", in: "urn:x"),
                [("code", "a"), ("why", "b")])
            let message = try SOAPMessage(written)
            let fault = try #require(message.fault)
            #expect(message.version == version)
            #expect(message.body.isEmpty)
            #expect(fault.code == code)
            #expect(fault.reason == "No <such> thing & more")
            #expect(fault.detail.map(\.name) == ["d"])
            #expect(fault.detail.first?.children.map(\.text) == ["a", "b"])
        }
    }

    @Test func faultsOfOtherStacksAreRead() throws {
        let dotted = try SOAPMessage(
            envelope(
                .soap11,
                "<s:Fault><faultcode>s:Client.Authentication</faultcode><faultstring>no</faultstring></s:Fault>"))
        #expect(dotted.fault?.code == .sender)
        let qualified = try SOAPMessage(
            envelope(
                .soap11, "<s:Fault><s:faultcode>own:Broken</s:faultcode><s:faultstring>no</s:faultstring></s:Fault>"))
        #expect(qualified.fault?.code == .receiver)
        #expect(qualified.fault?.reason == "no")
        let texts = """
            <s:Fault><s:Code><s:Value>s:Sender</s:Value></s:Code><s:Reason><s:Text xml:lang="de">nein</s:Text>\
            <s:Text xml:lang="en-GB">no</s:Text></s:Reason></s:Fault>
            """
        #expect(try SOAPMessage(envelope(.soap12, texts)).fault == SOAPFault(.sender, "no"))
    }

    @Test func anotherVersionIsAMismatchAndOtherDocumentsAreTheSenders() {
        for (text, code): (String, SOAPFault.Code) in [
            ("<Envelope xmlns='urn:soap:3'><Body/></Envelope>", .versionMismatch), ("<Envelope/>", .versionMismatch),
            ("<a/>", .sender), ("", .sender), ("{}", .sender),
            ("<Envelope xmlns='\(SOAPVersion.soap11.namespace)'/>", .sender),
            ("<Envelope xmlns='\(SOAPVersion.soap11.namespace)'><Body/><Body/></Envelope>", .sender),
            (
                "<!DOCTYPE a [<!ENTITY b 'c'>]><Envelope xmlns='\(SOAPVersion.soap11.namespace)'><Body/></Envelope>",
                .sender
            ),
            ("<Envelope xmlns='\(SOAPVersion.soap11.namespace)'><Body/></Envelope><b/>", .sender),
        ] {
            #expect { try SOAPMessage(Array(text.utf8)) } throws: { ($0 as? SOAPFault)?.code == code }
        }
    }

    @Test(arguments: SOAPVersion.allCases)
    func aHeaderThatMustBeUnderstoodIsRefusedUnlessItIsKnownOrForAnother(_ version: SOAPVersion) throws {
        let role = version == .soap11 ? "actor" : "role"
        func message(_ attributes: String, understood: Set<QName> = []) throws -> SOAPMessage {
            let header = "<s:Header><h:token xmlns:h='urn:h' \(attributes)/></s:Header>"
            return try SOAPMessage(envelope(version, header: header, "<a/>"), understood: understood)
        }
        #expect(throws: SOAPFault.self) { try message("s:mustUnderstand='1'") }
        #expect { try message("s:mustUnderstand='true'") } throws: {
            ($0 as? SOAPFault)?.code == .mustUnderstand
        }
        #expect(try message("s:mustUnderstand='0'").headers.count == 1)
        #expect(try message("s:mustUnderstand='1' s:\(role)='urn:another'").headers.count == 1)
        #expect(try message("s:mustUnderstand='1'", understood: [QName("token", in: "urn:h")]).headers.count == 1)
    }

    @Test(arguments: SOAPVersion.allCases)
    func aHeaderThatSaysNeitherYesNorNoIsTheSenders(_ version: SOAPVersion) throws {
        let role = version == .soap11 ? "actor" : "role"
        func message(_ attributes: String) throws -> SOAPMessage {
            try SOAPMessage(
                envelope(version, header: "<s:Header><h:a xmlns:h='urn:h' \(attributes)/></s:Header>", "<a/>"))
        }
        for value in ["", "yes", "2", "TRUE", "01", "1 1"] {
            #expect { try message("s:mustUnderstand='\(value)'") } throws: { ($0 as? SOAPFault)?.code == .sender }
            // It is for another node.
            #expect(try message("s:mustUnderstand='\(value)' s:\(role)='urn:another'").body.count == 1)
        }
        #expect { try message("s:mustUnderstand=' 1 '") } throws: { ($0 as? SOAPFault)?.code == .mustUnderstand }
        #expect(try message("s:mustUnderstand=' false '").body.count == 1)
        #expect(try message("mustUnderstand='yes'").body.count == 1)
    }

    @Test(arguments: SOAPVersion.allCases)
    func anEnvelopeIsAHeaderAndABody(_ version: SOAPVersion) throws {
        func message(_ children: String) throws -> SOAPMessage {
            try SOAPMessage(Array("<s:Envelope xmlns:s='\(version.namespace)'>\(children)</s:Envelope>".utf8))
        }
        for children in [
            "<s:Body/><s:Header/>", "<a/><s:Body/>", "<s:Header/><a/><s:Body/>", "<s:Header/>", "",
            "<Header/><s:Body/>", "<s:Body><s:Header/></s:Body><s:Body/>",
        ] {
            #expect { try message(children) } throws: { ($0 as? SOAPFault)?.code == .sender }
        }
        #expect(try message("<s:Header/><s:Body><a/></s:Body>").body.count == 1)
        // Of SOAP 1.1 alone, section 4.
        let trailed = try? message("<s:Body><a/></s:Body><t:more xmlns:t='urn:t'/>")
        #expect(trailed?.body.count == (version == .soap11 ? 1 : nil))
    }

    @Test func theDigestOfATokenIsTheOneOfTheProfile() throws {
        // hashlib.sha1(bytes(range(16)) + b"2026-11-23T06:00:00Z" + b"s3cret").digest() in Base64
        let digest = UsernameToken.digest(nonce: Array(0..<16), created: "2026-11-23T06:00:00Z", password: "s3cret")
        #expect(digest == "5yrub9T82ZtY3Y7UaHSS6N6RcTo=")
    }

    @Test(arguments: UsernameToken.Password.allCases)
    func aTokenTravelsInAHeaderThatMustBeUnderstood(_ kind: UsernameToken.Password) throws {
        let token = UsernameToken(
            "portico", Secret("s3cret"), kind, nonce: Array(0..<16), created: WireDate(rfc3339: "2026-11-23T06:00:00Z")!
        )
        let description = try DescriptionCase.description("rates-bare.wsdl")
        let operation = try #require(description.operation("rateOf"))
        let bytes = try operation.request("CHF", description.schema, security: token)
        let security = QName("Security", in: UsernameToken.securityNamespace)
        #expect(throws: SOAPFault.self) { try SOAPMessage(bytes) }
        let message = try SOAPMessage(bytes, understood: [security])
        let sent = try #require(message.headers.first?.children.first)
        #expect(sent.children.map(\.name) == ["Username", "Password", "Nonce", "Created"])
        #expect(sent.children[0].text == "portico")
        #expect(sent.children[1].text == (kind == .text ? "s3cret" : "5yrub9T82ZtY3Y7UaHSS6N6RcTo="))
        #expect(sent.children[2].text == "AAECAwQFBgcICQoLDA0ODw==")
        #expect(sent.children[3].text == "2026-11-23T06:00:00Z")
    }

    @Test func aTextThatXMLCannotCarryIsNotSent() throws {
        let description = try DescriptionCase.description("rates-bare.wsdl")
        let operation = try #require(description.operation("rateOf"))
        #expect(throws: SOAPValueProblem.self) { try operation.request("a\u{0}b", description.schema) }
    }
}

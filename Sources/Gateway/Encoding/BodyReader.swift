import AdapterKit
import HTTPTypes
import Synchronization
import Telemetry
import ValueTree
import WireFormats

/// From a request's body to a value: content coding, format by `Content-Type`, limits.
struct BodyReader: Sendable {
    static let formType = "application/x-www-form-urlencoded"

    let catalogue: FormatCatalogue
    let limits: GatewayLimits
    private let formats: RouteFormats
    private let named = NamedBodyFormats()
    private let forms: FormReader

    init(catalogue: FormatCatalogue, limits: GatewayLimits) {
        self.catalogue = catalogue
        self.limits = limits
        formats = RouteFormats(catalogue.formats)
        forms = FormReader(limits)
    }

    /// A decoded body, and how its texts are to be understood.
    struct Body: Sendable {
        let value: WireValue
        let coercion: Coercion
        /// The dates of a format that carries fewer digits of instants than records have; nil for any other.
        var dates: CoarseDates?
    }

    /// The bytes after content coding. Throws what the caller is refused with who may not act any more once they are
    /// there (``RequestConfirmation``).
    func bytes(of request: GatewayRequest, limit: Int?) async throws -> [UInt8] {
        let limit = limit ?? limits.body
        let encoded = try await RequestTimeline.measure(.body, "body") {
            try await request.body.collect(upTo: limit)
        }
        try await request.confirmation.load()?.confirm(request)
        guard let codings = request.headers.text(.contentEncoding) else { return encoded }
        return try ContentCoding.decode(encoded, codings: codings, limit: limit, expansion: limits.expansion)
    }

    /// Throws `request.malformed` for an empty body.
    func value(of request: GatewayRequest, limit: Int?) async throws -> Body {
        try read(try await bytes(of: request, limit: limit), contentType: request.headers.text(.contentType))
    }

    /// The input of an operation: path and query parameters, and the body's members.
    func input(
        of request: GatewayRequest, parameters: [FieldName: String], body: [UInt8], shape: ObjectShape,
        queryMembers: [FieldName],
        form: FormBody = .members
    ) throws -> WireDictionary {
        var members = WireDictionary()
        if !body.isEmpty {
            let body = try read(body, contentType: request.headers.text(.contentType), form: form)
            guard let sent = body.value.dictionaryValue else {
                throw PorticoError(.requestInvalid, "The input is a dictionary of its members.")
            }
            // What is typed already is coerced below, with what the address says.
            members =
                body.coercion.textSpellsEverything
                ? body.coercion.coerce(sent, to: shape, fillingDefaults: false) : sent
        }
        for name in queryMembers {
            guard let text = request.target[name.text] else { continue }
            try insert(text, name, of: shape, into: &members)
        }
        for (name, text) in parameters.sorted(by: { $0.key < $1.key }) {
            try insert(text, name, of: shape, into: &members)
        }
        return Coercion.typed.coerce(members, to: shape)
    }

    private func insert(
        _ text: String, _ name: FieldName, of shape: ObjectShape, into members: inout WireDictionary
    ) throws(PorticoError) {
        guard let member = shape.member(name.text) else { return }
        guard members.insert(Coercion.textual.coerce(.string(text), to: member.shape), forKey: name.text) else {
            throw PorticoError(.requestInvalid, "The member is given twice.", target: name.text)
        }
    }

    private func read(_ bytes: [UInt8], contentType: String?, form: FormBody) throws(PorticoError) -> Body {
        guard case .document(let field, let errorMessage) = form else {
            return try read(bytes, contentType: contentType)
        }
        do {
            let embedded = EmbeddedDocument(field: field, forms: forms)
            guard let document = try embedded.bytes(in: bytes, contentType: contentType) else {
                return try read(bytes, contentType: contentType)
            }
            return try read(document, contentType: MediaType.json.essence)
        } catch  where error.code == .requestMalformed {
            throw PorticoError(.requestMalformed, errorMessage, logDetail: error.message)
        }
    }

    func read(_ bytes: [UInt8], contentType: String?) throws(PorticoError) -> Body {
        guard !bytes.isEmpty else { throw PorticoError(.requestMalformed, "The body is empty.") }
        guard let contentType else { throw PorticoError(NegotiationFailure.unsupported(formats.mediaTypes)) }
        do {
            guard case .format(let body) = try named.format(of: contentType, in: formats, bytes) else {
                return try form(bytes)
            }
            let value = try document(bytes, in: body)
            return Body(
                value: value, coercion: body.format.name == .xml ? .xml : .typed, dates: CoarseDates(body.format))
        } catch let error as PorticoError {
            throw error
        } catch let failure as NegotiationFailure {
            throw PorticoError(failure)
        } catch {
            throw PorticoError(.serverInternal, "The body could not be read.", logDetail: "\(error)")
        }
    }

    private func document(_ bytes: [UInt8], in body: RouteFormats.Body) throws(PorticoError) -> WireValue {
        let limits = ReadingLimits(depth: limits.depth, values: limits.values)
        do {
            return try body.format.readTape(bytes, charset: body.charset, limits: limits).value()
        } catch {
            throw PorticoError(error, advising: ApparentFormat(bytes)?.advice(insteadOf: body.format.name))
        }
    }

    /// The types that a 415 offers (RFC 9110, section 12.5.1).
    var acceptedTypes: String { formats.mediaTypes.map(\.essence).joined(separator: ", ") }
}

extension BodyReader {
    private func form(_ bytes: [UInt8]) throws(PorticoError) -> Body {
        // None of these begins a form (URL Standard, section 5.2).
        if let kind = ApparentFormat(bytes), kind != .form {
            throw PorticoError(
                .requestMalformed, "The body is \(kind.words), and its header says that it is a form. \(kind.advice)")
        }
        var members = WireDictionary()
        for item in try forms.fields(of: bytes) {
            guard members.insert(.string(item.value), forKey: item.name) else {
                throw PorticoError(.requestDuplicateKey, "The form names a field twice.")
            }
        }
        return Body(value: .dictionary(members), coercion: .textual)
    }
}

extension PorticoError {
    /// Formats that could not be agreed upon.
    init(_ failure: NegotiationFailure) {
        switch failure {
        case .malformedField(let name):
            self.init(.requestMalformed, "The header field is not well-formed.", target: name)
        case .notAcceptable(let types):
            self.init(.notAcceptable, "The answer can be had as \(Self.list(types)).")
        case .unsupported(let types):
            self.init(.unsupportedMediaType, "The body can be sent as \(Self.list(types)).")
        }
    }

    private static func list(_ types: [MediaType]) -> String { types.map(\.essence).joined(separator: ", ") }

    /// A document that could not be read. `advice`: where it is not even one of its format.
    fileprivate init(_ error: WireFormatError, advising advice: String?) {
        guard error.kind == .malformed, let advice else {
            self.init(error)
            return
        }
        self.init(.requestMalformed, "\(error). \(advice)")
    }

    /// A document that could not be read.
    init(_ error: WireFormatError) {
        let code: ErrorCode =
            switch error.kind {
            case .malformed: .requestMalformed
            case .duplicateKey: .requestDuplicateKey
            case .limitExceeded: .requestLimitExceeded
            case .refused: .requestRefused
            case .notRepresentable: .notRepresentable
            }
        self.init(code, error.description)
    }
}

/// The fields of a form as a body (`application/x-www-form-urlencoded`): `http.limits.formFields` of them, none longer
/// than `http.limits.formField`. Both are looked at before anything is decoded.
struct FormReader: Sendable {
    private let mostFields: Int
    private let longestField: Int

    init(_ limits: GatewayLimits) {
        mostFields = limits.formFields
        longestField = limits.formField
    }

    /// Throws `request.limitExceeded`, and `request.malformed` for a form that is not well encoded.
    func fields(of body: [UInt8]) throws(PorticoError) -> [RequestTarget.QueryItem] {
        try checkSizes(body)
        guard let text = String(validating: body, as: UTF8.self),
            let items = FormEncoding.items(text[...], atMost: mostFields)
        else { throw PorticoError(.requestMalformed, "The form is not well encoded.") }
        return items
    }

    /// Checks the length of one field, its name included.
    func checkLength(_ bytes: Int) throws(PorticoError) {
        guard bytes <= longestField else {
            throw PorticoError(.requestLimitExceeded, "A field of a form has at most \(longestField) bytes.")
        }
    }

    private func checkSizes(_ body: [UInt8]) throws(PorticoError) {
        var fields = 0
        var start = body.startIndex
        while start < body.endIndex {
            let end = body[start...].firstIndex(of: UInt8(ascii: "&")) ?? body.endIndex
            if end > start { fields += 1 }
            try checkLength(end - start)
            guard fields <= mostFields else {
                throw PorticoError(.requestLimitExceeded, "A form has at most \(mostFields) fields.")
            }
            start = end + 1
        }
    }
}

/// A JSON document in a field of a form (``FormBody/document(field:errorMessage:)``).
struct EmbeddedDocument {
    let field: FieldName
    let forms: FormReader

    /// Nil where the body is no form with that field. Throws what ``FormReader`` does.
    ///
    /// The content type is hardly asked where the field stands first: clients that do not encode the document rarely
    /// name the type either. A body that says it has several parts is none of theirs.
    func bytes(in body: [UInt8], contentType: String?) throws(PorticoError) -> [UInt8]? {
        let prefix = Array("\(field)=".utf8)
        let type = contentType.flatMap { MediaType($0) }
        guard type?.type != "multipart" else { return nil }
        if body.starts(with: prefix), body.count > prefix.count, body[prefix.count] == UInt8(ascii: "{") {
            try forms.checkLength(body.count)
            return Array(body[prefix.count...])
        }
        guard type?.essence == BodyReader.formType || body.starts(with: prefix) else { return nil }
        return try encodedDocument(in: body)
    }

    private func encodedDocument(in body: [UInt8]) throws(PorticoError) -> [UInt8]? {
        let documents = try forms.fields(of: body).filter { $0.name == field.text }
        guard documents.count < 2 else {
            throw PorticoError(.requestDuplicateKey, "The form names a field twice.", target: field.text)
        }
        return documents.first.map { Array($0.value.utf8) }
    }
}

/// The formats of bodies by their `Content-Type`: callers say few different things. Types that two formats share
/// are not kept, since the body decides there, nor are failures. When it is full it begins anew.
final class NamedBodyFormats: Sendable {
    enum Format: Sendable {
        case form
        case format(RouteFormats.Body)
    }

    static let capacity = 256
    static let longestField = 256

    private let known = Mutex<[String: Format]>([:])

    func format(
        of contentType: String, in formats: RouteFormats, _ bytes: [UInt8]
    ) throws(NegotiationFailure) -> Format {
        if let format = known.withLock({ $0[contentType] }) { return format }
        guard let type = MediaType(contentType) else { throw .malformedField("Content-Type") }
        let isForm = type.essence == BodyReader.formType
        let format: Format = isForm ? .form : .format(try formats.body(contentType: contentType, bytes: bytes))
        if isForm || formats.isUnambiguous(type) { keep(format, for: contentType) }
        return format
    }

    private func keep(_ format: Format, for contentType: String) {
        guard contentType.utf8.count <= Self.longestField else { return }
        known.withLock { known in
            if known.count >= Self.capacity { known.removeAll(keepingCapacity: true) }
            known[contentType] = format
        }
    }
}

extension FormatCatalogue {
    /// For documents that are JSON by their own specification.
    var json: any WireFormat { self[.json] ?? JSONFormat() }
}

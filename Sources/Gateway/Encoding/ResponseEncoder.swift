import AdapterKit
import HTTPTypes
import Synchronization
import ValueTree
import WireFormats

/// From an answer to a response: format by `Accept`, validators, content coding.
struct ResponseEncoder: Sendable {
    let catalogue: FormatCatalogue
    private let clock: any WallClock
    private let negotiated = NegotiatedVariants()

    init(catalogue: FormatCatalogue, clock: any WallClock) {
        self.catalogue = catalogue
        self.clock = clock
    }

    /// An operation's answer. `version` names the state where the answer itself names none.
    func write(
        _ answer: OperationResult, of operation: Operation, to request: GatewayRequest, presentation: Presentation,
        version: String?
    ) throws(PorticoError) -> GatewayResponse {
        let validators = answer.validators ?? version.map { Validators(version: $0) }
        switch answer.content {
        case .nothing: return GatewayResponse(.noContent)
        case .document(let bytes, let mediaType):
            return document(bytes, mediaType: mediaType, to: request, validators: validators)
        case .value(let value):
            return try write(
                value, to: request, presentation: presentation, shape: operation.output, validators: validators,
                isDone: operation.effect == .writes)
        }
    }

    /// `isDone`: the request has changed something. An answer that the negotiated format cannot carry is then written in
    /// another one, since a failure would say that nothing was changed. `page`: the page for people that knows what the
    /// value is; nil: ``ValuePage``.
    func write(
        _ value: WireValue, to request: GatewayRequest, presentation: Presentation, shape: Shape = .any,
        status: HTTPResponse.Status = .ok, validators: Validators?, isDone: Bool = false,
        page: ((FormatLinks) -> HTML)? = nil
    ) throws(PorticoError) -> GatewayResponse {
        var variant = try choice(for: request, presentation: presentation)
        if variant.isPage {
            let links = FormatLinks(target: request.target, formats: catalogue.formats.map(\.name.text))
            let html = page?(links) ?? ValuePage(value: value, links: links).html
            return self.page(html, status: status, validators, variant)
        }
        let bytes: [UInt8]
        do {
            bytes = try encode(value, as: variant.format, presentation: presentation, shape: shape)
        } catch {
            guard isDone else { throw error }
            guard let other = encodedOtherwise(value) else { return GatewayResponse(status) }
            variant = ResponseVariant(
                format: other.format, mediaType: other.format.mediaTypeWritten.description, coding: variant.coding)
            bytes = other.bytes
        }
        var response = GatewayResponse(status, headers: [.contentType: variant.mediaType, .vary: Self.vary])
        compress(bytes, variant.coding, into: &response)
        label(&response, validators, variant: variant.name)
        return response
    }

    /// By `?format=` where there is one that is not to be overlooked, otherwise by `Accept`.
    func choice(
        for request: GatewayRequest, presentation: Presentation, overlooksQuery: Bool = false
    ) throws(PorticoError) -> ResponseVariant {
        let query = NegotiatedVariants.Question(
            accept: request.headers.text(.accept), acceptEncoding: request.headers.text(.acceptEncoding),
            override: overlooksQuery ? nil : request.target["format"], defaultFormat: presentation.defaultFormat,
            textXMLMeansPlist: presentation.textXMLIsPropertyList,
            mayBePage: !request.isPartOfBatch && (request.method == .get || request.method == .head),
            isForPerson: request.isForPerson)
        return try negotiated.variant(query) { () throws(PorticoError) in try agree(query, presentation) }
    }

    private func agree(
        _ query: NegotiatedVariants.Question, _ presentation: Presentation
    ) throws(PorticoError) -> ResponseVariant {
        let formats = formats(presentation)
        let coding = ContentCoding.negotiate(query.acceptEncoding)
        let page = query.mayBePage && query.override == nil ? PagePreference(accept: query.accept) : nil
        do throws(NegotiationFailure) {
            let chosen = try formats.negotiate(accept: query.accept, override: query.override)
            if query.isForPerson, let page, page.precedes(chosen.range) { return Self.page(coding) }
            return ResponseVariant(format: chosen.format, mediaType: chosen.mediaType.description, coding: coding)
        } catch {
            if page != nil { return Self.page(coding) }
            guard query.override == nil else {
                let names = formats.formats.map(\.name.text).joined(separator: ", ")
                throw PorticoError(.notAcceptable, "`format` takes one of \(names).", target: "format")
            }
            throw PorticoError(error)
        }
    }

    /// The catalogue's formats, the route's default first.
    private func formats(_ presentation: Presentation) -> RouteFormats {
        let others = catalogue.formats.filter { $0.name.text != presentation.defaultFormat }
        let preferred = catalogue.formats.filter { $0.name.text == presentation.defaultFormat }
        return RouteFormats(preferred + others, textXMLMeansPlist: presentation.textXMLIsPropertyList)
    }

    private static func page(_ coding: ContentCoding?) -> ResponseVariant {
        ResponseVariant(format: JSONFormat(), mediaType: HTML.mediaType, coding: coding, isPage: true)
    }

    private func page(
        _ html: HTML, status: HTTPResponse.Status, _ validators: Validators?, _ variant: ResponseVariant
    ) -> GatewayResponse {
        var response = GatewayResponse(page: html, status: status)
        response.headers[.vary] = Self.vary
        compress(Array(html.text.utf8), variant.coding, into: &response)
        label(&response, validators, variant: variant.name)
        return response
    }

    private func encodedOtherwise(_ value: WireValue) -> (format: any WireFormat, bytes: [UInt8])? {
        for format in [JSONFormat(), CBORFormat()] as [any WireFormat] {
            if let bytes = try? format.write(value) { return (format, bytes) }
        }
        return nil
    }

    private func encode(
        _ value: WireValue, as format: any WireFormat, presentation: Presentation, shape: Shape
    ) throws(PorticoError) -> [UInt8] {
        do throws(WireFormatError) {
            if format.name == .xml, let shaped = presentation.xml.flatMap({ ShapedXML($0, shape) }) {
                return try shaped.write(value)
            }
            let nulls: WritingOptions.NullPolicy = presentation.omitsNull && !format.traits.null ? .omitMember : .error
            return try format.write(value, options: WritingOptions.response(nulls: nulls))
        } catch {
            throw PorticoError(error)
        }
    }
}

extension ResponseEncoder {
    static let vary = "Accept, Accept-Encoding, Sec-Fetch-Mode, Upgrade-Insecure-Requests"
    static let keptByTheCaller = "private, no-cache"

    private func document(
        _ bytes: [UInt8], mediaType: String, to request: GatewayRequest, validators: Validators?
    ) -> GatewayResponse {
        let coding = ContentCoding.negotiate(request.headers[.acceptEncoding])
        var response = GatewayResponse(.ok, headers: [.contentType: mediaType, .vary: "Accept-Encoding"])
        compress(bytes, coding, into: &response)
        label(&response, validators, variant: coding?.rawValue ?? "document")
        return response
    }

    func compress(_ bytes: [UInt8], _ coding: ContentCoding?, into response: inout GatewayResponse) {
        guard let coding, bytes.count >= ContentCoding.minimumSize, let encoded = coding.encode(bytes) else {
            response.body = bytes
            return
        }
        response.headers.put(.contentEncoding, coding.rawValue)
        response.body = encoded
    }

    private func label(_ response: inout GatewayResponse, _ validators: Validators?, variant: String) {
        response.headers.put(.cacheControl, validators == nil ? "no-store" : Self.keptByTheCaller)
        if let version = validators?.version {
            response.headers.put(.eTag, EntityTag(version: version, variant: variant).text)
        }
        if let modified = validators?.lastModified.flatMap(HTTPDate.text) {
            response.headers.put(.lastModified, modified)
        }
    }

    /// 304 where the caller has this answer already (RFC 9110, section 13.2.2). Throws `record.preconditionFailed` where
    /// the caller wants it in another state only.
    func revalidated(_ response: GatewayResponse, for request: GatewayRequest) throws(PorticoError) -> GatewayResponse {
        guard isWanted(response, for: request) else {
            throw PorticoError(.preconditionFailed, "The resource is not in the state that the request names.")
        }
        return isUnchanged(response, for: request) ? response.unchanged() : response
    }

    /// By `If-Match`, else by `If-Unmodified-Since`. A response without the validator is wanted, and so is one with a weak
    /// tag: it is of an adapter whose contract compares tags otherwise.
    func isWanted(_ response: GatewayResponse, for request: GatewayRequest) -> Bool {
        guard request.method == .get || request.method == .head, response.status == .ok else { return true }
        if let field = request.headers.text(.ifMatch) {
            guard let tag = response.headers.text(.eTag), !tag.hasPrefix("W/") else { return true }
            return EntityTagList(field).withWeakness.contains { $0 == "*" || $0 == tag }
        }
        guard let limit = date(request.headers.text(.ifUnmodifiedSince)),
            let modified = date(response.headers[.lastModified])
        else { return true }
        return modified <= limit
    }

    func isUnchanged(_ response: GatewayResponse, for request: GatewayRequest) -> Bool {
        (request.method == .get || request.method == .head) && response.status == .ok
            && isCurrent(response, request.headers)
    }

    private func isCurrent(_ response: GatewayResponse, _ headers: HTTPFields) -> Bool {
        if let field = headers.text(.ifNoneMatch) {
            guard let tag = response.headers.text(.eTag) else { return false }
            return field == tag || EntityTagList(field).contains { $0 == "*" || $0 == tag }
        }
        guard let since = date(headers.text(.ifModifiedSince)), let modified = date(response.headers[.lastModified])
        else { return false }
        return modified <= since
    }

    private func date(_ field: String?) -> WireDate? {
        field.flatMap { HTTPDate.date($0, now: clock.now()) }
    }
}

extension WritingOptions {
    /// As answers are written: nothing that a record may hold makes one unsendable in any format.
    static func response(nulls: NullPolicy) -> WritingOptions {
        WritingOptions(nulls: nulls, dateFractions: .truncate, largeIntegers: .text)
    }
}

/// The form of one answer: a format, and a content coding where the caller takes one.
struct ResponseVariant: Sendable {
    let format: any WireFormat
    let mediaType: String
    let coding: ContentCoding?
    /// A page for people in the format's place (``ValuePage``).
    var isPage = false

    /// Tells variants apart in entity tags and in the answer cache.
    var name: String {
        let name = isPage ? HTML.variant : format.name.text
        return coding.map { "\(name)-\($0.rawValue)" } ?? name
    }
}

/// Variants agreed upon lately: callers say few different things, and agreeing anew costs more than finding it.
///
/// Failures are not kept. When it is full it begins anew.
final class NegotiatedVariants: Sendable {
    struct Question: Hashable, Sendable {
        let accept: String?
        let acceptEncoding: String?
        let override: String?
        let defaultFormat: String
        let textXMLMeansPlist: Bool
        /// Whether the answer may be a page for people: to reads only.
        let mayBePage: Bool
        /// Whether a page is preferred where others are acceptable too.
        let isForPerson: Bool

        /// Longer ones are not expected.
        var isShort: Bool {
            [accept, acceptEncoding, override].allSatisfy { ($0?.utf8.count ?? 0) <= NegotiatedVariants.longestField }
        }
    }

    static let capacity = 256
    static let longestField = 256

    private let variants = Mutex<[Question: ResponseVariant]>([:])

    func variant(
        _ query: Question, agree: () throws(PorticoError) -> ResponseVariant
    ) throws(PorticoError) -> ResponseVariant {
        if let known = variants.withLock({ $0[query] }) { return known }
        let agreed = try agree()
        guard query.isShort else { return agreed }
        variants.withLock { variants in
            if variants.count >= Self.capacity { variants.removeAll(keepingCapacity: true) }
            variants[query] = agreed
        }
        return agreed
    }
}

/// That a request names `text/html` in `Accept`.
struct PagePreference {
    private let ranges: [MediaRange]
    private let page: Int

    /// Nil where the field names no pages or excludes them. A wildcard names none.
    init?(accept: String?) {
        let ranges = MediaRange.list(accept ?? "")
        guard let page = ranges.firstIndex(where: { $0.type.essence == "text/html" }), ranges[page].quality > 0
        else { return nil }
        self.ranges = ranges
        self.page = page
    }

    /// Whether a page is preferred to the format that a range of the same field chose: by weight, then as the more
    /// specific one, then by order (RFC 9110, section 12.5.1).
    func precedes(_ other: MediaRange?) -> Bool {
        guard let other, let place = ranges.firstIndex(of: other) else { return false }
        if ranges[page].quality != other.quality { return ranges[page].quality > other.quality }
        return other.type.subtype == "*" || page < place
    }
}

extension GatewayResponse {
    /// Lets shared caches keep an answer that a caller without a credential got. They ask before each use, and tell it
    /// from what a caller with one would get (RFC 9111, sections 3.5, 4.1 and 5.2.2).
    mutating func allowSharing() {
        guard headers[.cacheControl] == ResponseEncoder.keptByTheCaller else { return }
        headers[.cacheControl] = "public, no-cache"
        headers[.vary] = "\(headers[.vary] ?? ResponseEncoder.vary), Authorization, Cookie"
    }
}

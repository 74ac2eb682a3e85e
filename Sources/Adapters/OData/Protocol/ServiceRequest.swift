import AdapterKit
import ODataLanguage
import ODataModel

/// One request of a service: what it addresses is parsed, what it would like is read, nothing is looked up yet. A class,
/// because each desk that has a part in the answer has it.
final class ServiceRequest: Sendable {
    let method: String
    /// Below the root, as it came: `Students(1)?$select=Name`.
    let relative: String
    let target: RequestTarget
    let format: ResponseFormat
    let preferences: Preferences
    let headers: MountHeaders
    let body: [UInt8]
    /// `https://host/odata/v4/service/`
    let root: String
    let caller: Principal
    let records: any RecordStore
    /// What is asked, where it is only read; without the page.
    let cachedQuery: CachedQuery?
    /// What addresses in bodies are written in.
    let language: LanguageVersion
    /// The body where it came in another form than version 4's JSON: what that would have said.
    let content: WireValue?

    init(
        method: String, relative: String, target: RequestTarget, format: ResponseFormat, preferences: Preferences,
        headers: MountHeaders, body: [UInt8], root: String, caller: Principal, records: any RecordStore,
        cachedQuery: CachedQuery? = nil, language: LanguageVersion = .v4, content: WireValue? = nil
    ) {
        self.method = method
        self.relative = relative
        self.target = target
        self.format = format
        self.preferences = preferences
        self.headers = headers
        self.body = body
        self.root = root
        self.caller = caller
        self.records = records
        self.cachedQuery = cachedQuery
        self.language = language
        self.content = content
    }

    /// The same request with what its body says.
    func saying(_ content: WireValue?) -> ServiceRequest {
        ServiceRequest(
            method: method, relative: relative, target: target, format: format, preferences: preferences,
            headers: headers, body: body, root: root, caller: caller, records: records, cachedQuery: cachedQuery,
            language: language, content: content)
    }

    /// Without the places that pages and changes are at.
    var address: PlainAddress { cachedQuery?.address ?? PlainAddress(relative) }

    /// Whether a change of what is not there creates it.
    var createsMissing: Bool { language != .v2 }

    var contentType: String { (headers["Content-Type"] ?? "").lowercased() }

    var sendsJSON: Bool {
        if content != nil { return true }
        let type = contentType.prefix { $0 != ";" }.filter { $0 != " " }
        return type == "application/json" || type.hasSuffix("+json")
    }

    /// The decoded text of an option without a form of its own.
    func custom(_ name: String) -> String? {
        for option in target.options {
            if case .custom(name, let value, _) = option.form { return value }
        }
        return nil
    }
}

extension RequestTarget {
    var formatOption: String? {
        for option in options {
            if case .format(let text) = option.form { return text }
        }
        return nil
    }
}

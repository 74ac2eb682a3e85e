import AdapterKit
import ODataLanguage
import ODataModel

/// One request of a service: what it addresses is parsed, what it would like is read, nothing is looked up yet.
struct ServiceRequest: Sendable {
    let method: String
    /// Below the root, as it came: `Students(1)?$select=Name`.
    let relative: String
    let target: RequestTarget
    let format: ResponseFormat
    let preferences: Preferences
    let headers: DoorHeaders
    let body: [UInt8]
    /// `https://host/odata/v4/service/`
    let root: String
    let caller: Principal
    let records: any RecordStore
    /// What is asked, where it is only read; without the page.
    var question: KnownQuestion?
    /// What addresses in bodies are written in.
    var language = LanguageVersion.v4
    /// The body where it came in another form than version 4's JSON: what that would have said.
    var content: WireValue?
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

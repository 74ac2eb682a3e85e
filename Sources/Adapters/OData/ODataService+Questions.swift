import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataRecords

// What requests ask, from what is known of the same questions.
extension ODataService {
    /// What is asked, and the tree of the whole address. One that cannot be read without its end is read whole, so that
    /// what is wrong with it is told.
    func question(
        _ method: String, _ relative: String
    ) throws -> (KnownQuestion?, RequestTarget) {
        let limits = configuration.limits.language
        let address = PageAddress(relative)
        let read = { (text: String) throws(PorticoError) in
            try TargetReader.target(text, limits: limits)
        }
        guard method == "GET" else { return (nil, try read(relative)) }
        if address.token != nil, relative.utf8.count <= limits.length,
            let question = try? known.question(address.question, read: read),
            !question.target.isOfOnePage
        {
            return (question, address.target(question.target))
        }
        let question = try known.question(relative, read: read)
        return (question, question.target)
    }

    /// In which of JSON's forms the answer is written.
    func format(
        _ target: RequestTarget, _ question: KnownQuestion?, accept: String?
    ) throws -> ResponseFormat {
        let negotiate = {
            isRaw(target)
                ? ResponseFormat() : try ResponseFormat.negotiate(format: target.formatOption, accept: accept)
        }
        return try question?.format(accepted: accept, negotiate) ?? negotiate()
    }

    /// Answers that are not in OData's JSON negotiate for themselves.
    private func isRaw(_ target: RequestTarget) -> Bool {
        switch target.resource {
        case .metadata, .batch: return true
        case .path(let segments):
            switch segments.last?.form {
            case .value, .count: return true
            case .name(let name): return tables.tables.values.contains { $0.streams[name.name] != nil }
            default: return false
            }
        default: return false
        }
    }

    /// Where the path leads.
    func address(_ segments: [PathSegment], _ request: ServiceRequest) throws -> Address {
        let find = {
            try AddressReader(tables: tables, options: request.target.options).address(segments)
        }
        let address = try request.question?.address(find) ?? find()
        try OptionRules(request).check(address)
        return address
    }
}

extension RequestTarget {
    /// Whether it says at which place of an order it goes on.
    fileprivate var isOfOnePage: Bool {
        options.contains { if case .skipToken = $0.form { true } else { false } }
    }
}

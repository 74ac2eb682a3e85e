import AdapterKit
import ODataAddresses
import ODataLanguage
import ODataRecords

// What requests ask, from what is known of the same questions.
extension ODataService {
    /// What is asked, and the tree of the whole address. One that cannot be read without its end is read whole, so that
    /// what is wrong with it is told.
    func cachedQuery(
        _ method: String, _ relative: String, in language: LanguageVersion,
        read: (String) throws(PorticoError) -> RequestTarget
    ) throws -> (CachedQuery?, RequestTarget) {
        let address = PageAddress(relative, changes: language == .v2 ? "!deltatoken" : "$deltatoken")
        guard method == "GET" else { return (nil, try read(relative)) }
        if address.isOfPage, relative.utf8.count <= configuration.limits.language.length,
            let cachedQuery = try? known.cachedQuery(address.cachedQuery, in: language, read: read),
            !cachedQuery.target.isOfOnePage
        {
            return (cachedQuery, address.target(cachedQuery.target))
        }
        let cachedQuery = try known.cachedQuery(relative, in: language, read: read)
        return (cachedQuery, cachedQuery.target)
    }

    /// In which of JSON's forms the answer is written.
    func format(
        _ target: RequestTarget, _ cachedQuery: CachedQuery?, accept: String?
    ) throws -> ResponseFormat {
        let negotiate = { [self] in
            isRaw(target)
                ? ResponseFormat() : try ResponseFormat.negotiate(format: target.formatOption, accept: accept)
        }
        return try cachedQuery?.format(accept, negotiate) ?? negotiate()
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
            try AddressReader(tables: self.tables, options: request.target.options).address(segments)
        }
        let address = try request.cachedQuery?.place(find) ?? find()
        try OptionRules(request).check(address)
        return address
    }
}

extension RequestTarget {
    /// Whether it says at which place of an order it goes on, or of a history.
    fileprivate var isOfOnePage: Bool {
        options.contains { option in
            switch option.form {
            case .skipToken, .deltaToken: true
            default: false
            }
        }
    }
}

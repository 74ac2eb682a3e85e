extension AdapterDeclaration {
    /// Mistakes in its mirrors and in operations that ask other systems, one sentence each. The host
    /// refuses a declaration that has any.
    public var mirrorProblems: [String] {
        let names = mirrors.map(\.entity.text)
        let twice = Set(names.filter { name in names.count { $0 == name } > 1 }).sorted()
        return twice.map { "the entity \($0) has two sources" }
            + mirrors.flatMap { source in
                (problems(of: source) + source.settings.problems).map { "the mirror of \(source.entity): \($0)" }
            }
            + operations.flatMap { operation in
                (operation.callThroughProblems + operation.mirrorParameterProblems).map {
                    "the operation \(operation.name): \($0)"
                }
            }
    }

    private func problems(of source: MirrorSource) -> [String] {
        guard let entity = entity(source.entity) else { return ["there is no such entity"] }
        // Two names for one row would be two records of it, but where it is one of each of its callers.
        let key =
            entity.key.chooser == .server && source.callerKey == nil
            ? ["its key is chosen by the server, so fetched rows cannot be found again by theirs"] : []
        // The other system would not know that id.
        let unchosen =
            source.writing != .none && entity.key.chooser == .either
            ? ["callers may leave its key to the server, which cannot choose one for the other system"] : []
        // The rules of an adapter are asked about changes of callers, not about fetched rows.
        let ruled = entity.fields.filter { $0.source == .rules && $0.isRequired && $0.defaultValue == nil }
        let derived = source.derivedEntity.flatMap { name in
            self.entity(name) == nil ? ["there is no entity \(name) that could be made of it"] : nil
        }
        return key + unchosen + (derived ?? [])
            + ruled.map { "its field \($0.name) is given by the adapter's rules, which see no fetched rows" }
    }
}

extension MirrorSettings {
    fileprivate var problems: [String] {
        let isShare = `guard`.share >= 0 && `guard`.share <= 1
        return AgeLimits(freshFor: freshFor, staleFor: staleFor, waitFor: waitFor).problems
            + (refresh.map { $0 > .zero } ?? true ? [] : ["`refresh` is no time"])
            + (isShare ? [] : ["`guard.share` is not from 0 to 1"])
            + (`guard`.from >= 0 ? [] : ["`guard.from` is negative"])
    }
}

extension Operation {
    fileprivate var callThroughProblems: [String] {
        guard let callThrough else { return [] }
        let ages = AgeLimits(
            freshFor: callThrough.freshFor, staleFor: callThrough.staleFor, waitFor: callThrough.waitFor)
        return ages.problems
            + (effect == .reads ? [] : ["it writes, so its answers cannot be used again"])
            + (caching == .noStore ? [] : ["its answers come from another system, not from the adapter's records"])
            + (audience == .callers ? [] : ["it is for operators, who are no callers of another system"])
            + (callThrough.keptAnswers > 0 && callThrough.keptBytes > 0 ? [] : ["it keeps no answers"])
    }
}

extension Operation {
    /// The age is known before a body is read.
    fileprivate var mirrorParameterProblems: [String] {
        guard let mirrorParameter else { return [] }
        let isInEveryPath = bindings.allSatisfy { $0.path.parameters.contains(mirrorParameter) && $0.method == .get }
        return !bindings.isEmpty && isInEveryPath
            ? [] : ["its member \(mirrorParameter), which names a mirror, is not in the path of every `GET`"]
    }
}

private struct AgeLimits {
    let freshFor: Duration
    let staleFor: Duration
    let waitFor: Duration

    var problems: [String] {
        (freshFor >= .zero && waitFor >= .zero ? [] : ["`freshFor` or `waitFor` is negative"])
            + (freshFor <= staleFor ? [] : ["`freshFor` is longer than `staleFor`"])
    }
}

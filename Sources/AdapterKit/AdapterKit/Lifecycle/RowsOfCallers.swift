/// The fields that the host adds to an entity whose rows belong to single callers.
public enum CallerRowField {
    /// The key: chosen by the server, since two callers may be given the same row of the other system.
    public static let id: FieldName = "porticoID"
    /// The account name of the caller to whom the row belongs.
    public static let caller: FieldName = "porticoCaller"
    /// The caller's roles when the row was fetched (``Principal/roleList``): a credential with fewer, or with others, does not
    /// read it.
    public static let roles: FieldName = "porticoRoles"
}

extension AdapterDeclaration {
    /// The same adapter in front of systems that are called in their callers' names: every row of a mirror of those
    /// `upstreams` belongs to the caller in whose name it was fetched, with the roles that the call had.
    ///
    /// The entity gets the fields of ``CallerRowField``; its own key becomes an ordinary field
    /// (``MirrorSource/callerKey``). No other caller reads such a row, and no caller writes one. Throws
    /// ``ConfigurationProblem`` for a mirror that cannot be kept so.
    public func keepingRowsOfCallers(of upstreams: Set<UpstreamName>) throws -> AdapterDeclaration {
        let kept = mirrors.filter { upstreams.contains($0.upstream) }
        guard !kept.isEmpty else { return self }
        for source in kept { try checkRowsOfCallers(of: source) }
        return AdapterDeclaration(
            name: name, title: title, summary: summary, version: version, access: access,
            entities: entities.map { entity in
                kept.contains { $0.entity == entity.name } ? entity.belongingToCallers : entity
            }, operations: operations, mounts: mounts, liveFeeds: liveFeeds,
            mirrors: mirrors.map { source in
                guard kept.contains(source) else { return source }
                var source = source
                source.callerKey = entity(source.entity)?.key.field
                return source
            }, rules: rules, soapServices: soapServices)
    }

    private func checkRowsOfCallers(of source: MirrorSource) throws {
        let reason = "The upstream \(source.upstream) is called in its callers' names"
        guard source.supportsRowsOfCallers, let entity = entity(source.entity) else {
            throw ConfigurationProblem(
                "upstream", "\(reason), and a refresh has no caller: only `mode: call` is possible.")
        }
        guard source.settings.refresh == nil else {
            throw ConfigurationProblem("refresh", "\(reason), and a refresh by schedule has no caller.")
        }
        guard source.writing == .none else {
            throw ConfigurationProblem(
                "write", "\(reason): the rows belong to single callers and are not changed here.")
        }
        let added = [CallerRowField.id, CallerRowField.caller, CallerRowField.roles]
        let isReferredTo = entities.contains { $0.references.contains { $0.entity == entity.name } }
        guard source.reading == .snapshot, entity.references.isEmpty, !isReferredTo,
            !entity.fields.contains(where: { added.contains($0.name) })
        else {
            throw ConfigurationProblem(
                "upstream", "\(reason), and the records \(entity.name) cannot be kept for single callers.")
        }
    }
}

extension Entity {
    fileprivate var belongingToCallers: Entity {
        Entity(
            name, summary: summary, key: EntityKey(CallerRowField.id, chosenBy: .server),
            fields: [
                Field(CallerRowField.id, .string(maximumLength: 64), isRequired: true, summary: "The key."),
                Field(
                    CallerRowField.caller, .string, source: .creator,
                    summary: "The account to which the row belongs."),
                Field(
                    CallerRowField.roles, .string, isNullable: true, source: .callerOnCreate,
                    summary: "The roles with which the row was fetched."),
            ] + fields,
            // Several callers may have the same row.
            indexes: [Index([CallerRowField.caller, key.field])] + indexes.map { Index($0.fields) },
            searchFields: searchFields, attachments: attachments, historyFields: historyFields,
            rows: RowRules(
                read: .all([
                    rows.read, .owner(CallerRowField.caller),
                    .attributeEquals(CallerRowField.roles, attribute: Principal.roleListAttribute),
                ]), write: .nobody), readers: readers,
            writers: .nobody, conflictPolicy: .reject, exposure: exposure)
    }
}

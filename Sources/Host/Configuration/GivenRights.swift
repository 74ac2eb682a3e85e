import AdapterKit
import Gateway
import HostConfiguration

/// The rights that the configuration gives: `adapters.{name}.access` and `adapters.{name}.entities.{entity}.access`.
struct GivenRights {
    private struct OfEntity {
        let name: String
        let rights: AccessRights
        let path: String
    }

    private let module: ConfigurableAdapter
    private let resolved: ResolvedConfiguration
    private let path: String
    private let access: AccessRights
    private let entities: [OfEntity]

    init(of module: ConfigurableAdapter, _ resolved: ResolvedConfiguration) {
        let path = "adapters.\(module.name)"
        (self.module, self.resolved, self.path) = (module, resolved, "\(path).access")
        access = resolved[self.path]?.access ?? AccessRights()
        entities = resolved.settings(below: path).compactMap { names, value in
            guard HostPlan.isRightOfEntity(names), let rights = value.access else { return nil }
            return OfEntity(name: names[1], rights: rights, path: "\(path).\(names.joined(separator: "."))")
        }
    }

    /// Throws ``ConfigurationErrors`` for an entity that is not declared, and for a mirror of which one side says that callers
    /// write it and the other that they do not.
    func granted(to declaration: AdapterDeclaration) throws -> AdapterDeclaration {
        var given: [EntityName: AccessRights] = [:]
        var errors: [ConfigurationError] = []
        for entity in entities {
            if let declared = declaration.entities.first(where: { $0.name.text == entity.name }) {
                given[declared.name] = entity.rights
            } else if module.absence == nil {
                errors.append(error(unknown: entity, in: declaration))
            }
        }
        let granted = declaration.granting(access, entities: given)
        errors += granted.mirrors.compactMap { mirror in
            granted.entity(mirror.entity).flatMap { error(of: mirror, $0, in: granted, given[mirror.entity]) }
        }
        guard errors.isEmpty else { throw ConfigurationErrors(errors) }
        return granted
    }

    private func error(unknown entity: OfEntity, in declaration: AdapterDeclaration) -> ConfigurationError {
        let names = declaration.entities.map(\.name.text).joined(separator: ", ")
        return ConfigurationError(
            "The adapter \(module.name) has no entity \(entity.name): it has \(names.isEmpty ? "none" : names).",
            at: location(entity.path))
    }

    private func error(
        of mirror: MirrorSource, _ entity: Entity, in declaration: AdapterDeclaration, _ given: AccessRights?
    ) -> ConfigurationError? {
        guard mirror.writing == .none else {
            guard declaration.writers(of: entity).isNobody else { return nil }
            let setting = pathOfWriting(mirror.writing)
            let right = setting.map { $0.dropLast("write".count) + "access" } ?? path
            return ConfigurationError(
                "Callers' changes of \(entity.name) are made in the other system (write: \(mirror.writing.rawValue)), and nobody "
                    + "may make any: say who may, \(right): {write: …}.",
                at: setting.flatMap { resolved.location(of: $0) } ?? location(path))
        }
        let ofEntity = entities.first { $0.name == entity.name.text }
        guard
            let ofEntity = [ofEntity?.path, isOnlyRead(declaration) ? path : nil].compactMap(\.self).first(where: lets)
        else { return nil }
        return ConfigurationError(
            "\(entity.name) mirrors another system that gets no changes, so nobody can be let write it: leave "
                + "`write` out of its access, or have changes made there (write: through or queued).",
            at: location(ofEntity))
    }

    /// The setting that says so: `write` of the adapter, or of a part of it that has a name of its own.
    private func pathOfWriting(_ writing: MirrorSource.Writing) -> String? {
        let adapter = "adapters.\(module.name)"
        return resolved.settings(below: adapter).first { names, value in
            names.last == "write" && value.text == writing.rawValue
        }.map { names, _ in "\(adapter).\(names.joined(separator: "."))" }
    }

    /// Whether an access at this key says that callers may write, in its long form: the short ones are about reading first.
    private func lets(_ path: String) -> Bool {
        guard let rights = resolved[path]?.access, let write = rights.write, !write.isNobody,
            case .dictionary(let members) = rights.configurationValue
        else { return false }
        return members["roles"] == nil
    }

    /// Whether there is nothing that the adapter's access could let callers write.
    private func isOnlyRead(_ declaration: AdapterDeclaration) -> Bool {
        declaration.entities.filter { $0.exposure == .resource }.allSatisfy {
            declaration.mirror(of: $0.name)?.writing == MirrorSource.Writing.none
        } && declaration.mounts.isEmpty
            && !declaration.operations.contains { $0.effect == .writes && $0.audience == .callers }
    }

    private func location(_ path: String) -> ConfigurationLocation {
        resolved.location(of: path) ?? resolved.location(of: "adapters.\(module.name).connect")
            ?? .commandLine(path)
    }
}

extension HostPlan.PlannedAdapter {
    /// Names what a program of version 1 of the protocol, which cannot say who may write, lets every caller write.
    var warningOfVersion1: String? {
        guard protocolVersion == 1, case let open = declaration.openWrites, !open.isEmpty else { return nil }
        return
            "the program of the adapter \(declaration.name) speaks version 1 of the adapter protocol, which does not say who may "
            + "write: \(open.sentence); build it for a later version, or say who may write in adapters.\(declaration.name).access"
    }

    /// Names what some callers may write who may not read it: they see nothing of what they change.
    var warningOfUnreadWrites: String? {
        guard case let names = declaration.writtenUnread, !names.isEmpty else { return nil }
        return
            "adapters.\(declaration.name): some who may write \(OpenWrites.list(names)) may not read it, and are answered "
            + "nothing of it"
    }

    /// Names what every caller with a login may write, and no row rule narrows.
    var warningOfOpenWrites: String? {
        guard protocolVersion != 1, case let open = declaration.openWrites, !open.isEmpty else { return nil }
        return "adapters.\(declaration.name): \(open.sentence), and no row rule says whose rows they are"
    }
}

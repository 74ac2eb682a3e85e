/// Collects settings layer by layer; a later one replaces an earlier one of the same path.
struct Resolver {
    let reference: ConfigurationReference
    let reader: ValueReader
    var settings: [String: ResolvedConfiguration.Setting] = [:]
    var errors: [ConfigurationError] = []

    mutating func addDefaults() {
        for key in reference.keys {
            guard let text = key.defaultText, !key.path.contains("*") else { continue }
            let node = FlowText.node(text, at: .commandLine("\(key.name)=\(text)"))
            // An adapter's may be a plugin's.
            guard let value = try? reader.read(node, as: key.kind) else {
                errors.append(
                    ConfigurationError("The default of \(key.name) is not of its kind.", at: .commandLine(key.name)))
                continue
            }
            settings[key.name] = .init(path: key.path, value: value, place: nil)
        }
    }

    mutating func add(_ node: ConfigurationNode, at path: [String]) {
        if let key = reference.key(for: path) {
            if node.content == .null { return }
            set(path, node, key)
        } else if reference.hasKeys(below: path) {
            addMembers(of: node, at: path)
        } else {
            errors.append(ConfigurationError(unknown: path, in: reference, at: node.place))
        }
    }

    mutating func add(_ layer: () throws(ConfigurationError) -> [(path: [String], node: ConfigurationNode)]) {
        do {
            for setting in try layer() { add(setting.node, at: setting.path) }
        } catch {
            errors.append(error)
        }
    }

    private mutating func addMembers(of node: ConfigurationNode, at path: [String]) {
        switch node.content {
        case .null: break
        case .mapping(let entries):
            for entry in entries {
                let below = path + [entry.key]
                guard reference.key(for: below) != nil || reference.hasKeys(below: below) else {
                    errors.append(ConfigurationError(unknown: below, in: reference, at: entry.keyPlace))
                    continue
                }
                add(entry.value, at: below)
            }
        default:
            let name = path.isEmpty ? "The configuration" : path.joined(separator: ".")
            errors.append(ConfigurationError("\(name) is a mapping of keys.", at: node.place))
        }
    }

    private mutating func set(_ path: [String], _ node: ConfigurationNode, _ key: ConfigurationKey) {
        do {
            let value = try reader.read(node, as: key.kind)
            settings[path.joined(separator: ".")] = .init(path: path, value: value, place: node.place)
        } catch {
            errors.append(error)
        }
    }
}

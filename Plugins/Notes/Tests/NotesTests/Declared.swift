import AdapterKit
import Notes
import Testing

/// What the host learns of the plugin.
enum Declared {
    static func adapter() throws -> AdapterDeclaration {
        try NotesModule.declare(AdapterConfiguration())
    }

    static func notes() throws -> Entity {
        try #require(adapter().entity("notes"))
    }
}

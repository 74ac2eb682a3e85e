import BuiltInAdapters
import Host
import Notes

/// A host of one's own, as a company writes it: Portico with Notes compiled in.
@main
enum NotesHost: HostProgram {
    static let name = "notes-host"
    static let adapters = BuiltInAdapters.all + [CompiledAdapter(NotesModule.self, version: "1.0.0")]
}

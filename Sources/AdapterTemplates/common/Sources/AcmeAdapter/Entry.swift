// What makes the library a plugin: two C functions that the host looks up.
import AdapterKit

@c(adapterkit_stamp) public func stamp() -> UnsafePointer<AdapterKitStamp> { adapterKitStamp() }
@c(adapterkit_module) public func module() -> UnsafeMutableRawPointer { adapterModuleBox(AcmeModule.self) }

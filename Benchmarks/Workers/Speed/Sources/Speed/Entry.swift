import AdapterKit

@c(adapterkit_stamp) public func stamp() -> UnsafePointer<AdapterKitStamp> { adapterKitStamp() }
@c(adapterkit_module) public func module() -> UnsafeMutableRawPointer { adapterModuleBox(SpeedModule.self) }

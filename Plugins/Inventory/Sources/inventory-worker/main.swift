// The adapter as a program, which the gateway starts and restarts.
import AdapterWorker
import Inventory

AdapterWorkerProgram.run(InventoryModule.self)

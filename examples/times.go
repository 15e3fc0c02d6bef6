// Prints how long an all_reduce takes on 8 x H200, by size: go run times.go
package main

// #cgo pkg-config: collsim
// #include <collsim/collsim.h>
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"log"
	"unsafe"
)

func main() {
	name := C.CString("hgx-h200")
	defer C.free(unsafe.Pointer(name))
	var machine *C.struct_collsim_machine
	if C.collsim_load_machine(name, nil, &machine) != C.COLLSIM_OK {
		log.Fatal(C.GoString(C.collsim_error_message()))
	}
	defer C.collsim_free_machine(machine)
	var call C.struct_collsim_call
	sizes := []C.int64_t{1 << 20, 1 << 25, 1 << 30}
	rows := make([]C.struct_collsim_prediction, len(sizes))
	if C.collsim_simulate(machine, &call, &sizes[0], C.size_t(len(sizes)), nil, &rows[0]) != C.COLLSIM_OK {
		log.Fatal(C.GoString(C.collsim_error_message()))
	}
	for _, row := range rows {
		fmt.Printf("%d %.2f %s %s\n", row.bytes, float64(row.time_us), C.GoString(&row.algorithm[0]),
			C.GoString(&row.protocol[0]))
	}
}

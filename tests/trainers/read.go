// read MOUNT RANK: reads every batch of a rank, side by side, as a trainer in Go would. Standard library only.
package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: read MOUNT RANK")
	}
	var dataset struct {
		Dtype string
		Shape [2]int
	}
	text, err := os.ReadFile(filepath.Join(os.Args[1], "dataset.json"))
	if err == nil {
		err = json.Unmarshal(text, &dataset)
	}
	if err != nil || dataset.Dtype != "uint16" {
		log.Fatal("dataset.json: ", dataset.Dtype, err)
	}
	paths, err := filepath.Glob(filepath.Join(os.Args[1], "rank_"+os.Args[2], "batch_*.bin"))
	if err != nil {
		log.Fatal(err)
	}
	sums := make([]uint64, len(paths))
	var wait sync.WaitGroup
	for i, path := range paths {
		wait.Add(1)
		go func(i int, path string) {
			defer wait.Done()
			batch, err := os.ReadFile(path)
			if err != nil || len(batch) != 2*dataset.Shape[0]*dataset.Shape[1] {
				log.Fatal(path, ": ", len(batch), " bytes, ", err)
			}
			for at := 0; at < len(batch); at += 2 {
				sums[i] += uint64(binary.LittleEndian.Uint16(batch[at:]))
			}
		}(i, path)
	}
	wait.Wait()
	var sum uint64
	for _, s := range sums {
		sum += s
	}
	fmt.Printf("%d batches of %d x %d, sum %d\n", len(paths), dataset.Shape[0], dataset.Shape[1], sum)
}

// Command features-original is the original question's server in Go: a million values in a slice under a
// sync.RWMutex, every search looks at all of them. Written from the description of the original.
//
//	features-original PORT
package main

import (
	"context"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"

	"features-original/db"
)

const (
	records = 1_000_000
	// Some ten records have each value.
	distinct = 100_000
)

type server struct {
	db.UnimplementedDBServer
	lock   sync.RWMutex
	values []int32
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: features-original PORT")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	random := rand.New(rand.NewPCG(7, 7))
	values := make([]int32, records)
	for at := range values {
		values[at] = random.Int32N(distinct)
	}
	service := grpc.NewServer()
	db.RegisterDBServer(service, &server{values: values})
	log.Fatal(service.Serve(listener))
}

func (s *server) Search(_ context.Context, wanted *db.Value) (*db.Records, error) {
	s.lock.RLock()
	defer s.lock.RUnlock()
	found := &db.Records{}
	for index, value := range s.values {
		if value == wanted.Value {
			found.Records = append(found.Records, &db.Record{Index: int32(index), Value: value})
		}
	}
	return found, nil
}

func (s *server) Update(_ context.Context, changed *db.Records) (*emptypb.Empty, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, record := range changed.Records {
		s.values[record.Index] = record.Value
	}
	return &emptypb.Empty{}, nil
}

func (s *server) Add(_ context.Context, added *db.Values) (*emptypb.Empty, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.values = append(s.values, added.Values...)
	return &emptypb.Empty{}, nil
}

func (s *server) Delete(_ context.Context, deleted *db.Indexes) (*emptypb.Empty, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, index := range deleted.Indexes {
		s.values = slices.Delete(s.values, int(index), int(index)+1)
	}
	return &emptypb.Empty{}, nil
}

// A receiver by the standard library of Go alone. WEBHOOK_SECRET is the signing secret, PORT the port of 127.0.0.1 (0: any, it is
// printed). With PROBE=1 it also answers the probe of `postern check`, which an app that is deployed must not.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	maxBodyBytes = 1 << 20
	retention    = 7 * 24 * time.Hour
)

var form = regexp.MustCompile(`^sha256=([0-9a-fA-F]{64})$`)

type event struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

// A run of an event: over once done is closed.
type run struct {
	done chan struct{}
	err  error
}

// The events that are being handled or have been. A process that restarts forgets them: where several run, or work must not be done
// again after a restart, a table with a unique id takes its place.
type ledger struct {
	sync.Mutex
	runs map[string]*run
}

// Does the work of an event once; duplicates wait for it and share its result. What failed may be done again.
func (l *ledger) once(id string, work func() error) error {
	l.Lock()
	if earlier, ok := l.runs[id]; ok {
		l.Unlock()
		<-earlier.done
		return earlier.err
	}
	current := &run{done: make(chan struct{})}
	l.runs[id] = current
	l.Unlock()
	current.err = work()
	if current.err != nil {
		l.forget(id)
	} else {
		time.AfterFunc(retention, func() { l.forget(id) })
	}
	close(current.done)
	return current.err
}

func (l *ledger) forget(id string) {
	l.Lock()
	defer l.Unlock()
	delete(l.runs, id)
}

type receiver struct {
	secret []byte
	ledger ledger
	probe  *probe
}

func (r *receiver) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		response.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if encoding := request.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		response.WriteHeader(http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, maxBodyBytes))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		response.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		response.WriteHeader(http.StatusBadRequest)
		return
	}
	if !r.isGenuine(body, request.Header.Values("X-Service-Signature")) {
		response.WriteHeader(http.StatusUnauthorized)
		return
	}
	var received event
	if json.Unmarshal(body, &received) != nil || received.ID == "" {
		response.WriteHeader(http.StatusBadRequest)
		return
	}
	if err := r.ledger.once(received.ID, func() error { return r.work(received) }); err != nil {
		log.Printf("event %s: %v", received.ID, err)
		response.WriteHeader(http.StatusInternalServerError)
		return
	}
	response.WriteHeader(http.StatusOK)
}

// Exactly one header, of the right form, with the digest of these very bytes.
func (r *receiver) isGenuine(body []byte, signatures []string) bool {
	if len(signatures) != 1 {
		return false
	}
	match := form.FindStringSubmatch(signatures[0])
	if match == nil {
		return false
	}
	given, err := hex.DecodeString(match[1])
	mac := hmac.New(sha256.New, r.secret)
	mac.Write(body)
	return err == nil && hmac.Equal(given, mac.Sum(nil))
}

// Put your own code here. Return an error to have the event delivered again.
func (r *receiver) work(received event) error {
	return r.probe.count(received.ID)
}

// Counts runs, and makes some fail.
type probe struct {
	sync.Mutex
	runs    map[string]int
	failing map[string]bool
}

func (p *probe) count(id string) error {
	p.Lock()
	defer p.Unlock()
	if p.failing[id] {
		delete(p.failing, id)
		return errors.New("the probe asked for it")
	}
	p.runs[id]++
	return nil
}

func (p *probe) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	p.Lock()
	defer p.Unlock()
	id := request.URL.Query().Get("id")
	if request.Method == http.MethodPost {
		p.failing[id] = true
	}
	fmt.Fprintf(response, `{"runs": %d}`, p.runs[id])
}

func main() {
	secret, port := os.Getenv("WEBHOOK_SECRET"), os.Getenv("PORT")
	if secret == "" {
		log.Fatal("WEBHOOK_SECRET is not set")
	}
	probe := &probe{runs: map[string]int{}, failing: map[string]bool{}}
	mux := http.NewServeMux()
	mux.Handle("/webhooks", &receiver{secret: []byte(secret), ledger: ledger{runs: map[string]*run{}}, probe: probe})
	if os.Getenv("PROBE") == "1" {
		mux.Handle("/probe", probe)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	server := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second}
	log.Fatal(server.Serve(listener))
}

//go:build linux

package faults

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/iconedge/iconedge/objectstore/storetest"
	"github.com/iconedge/iconedge/test/harness"
)

// processPhases are those in which a process, a store or a disk fails.
func processPhases() []*phase {
	failed := []int{bad, busy, late}
	return []*phase{
		{name: "mirror full", what: "a release is published that the mirror's disk has no room for", setup: originOnFullDisk, bend: releaseTooLarge, also: onlyNew, mild: true, direct: true, only: true},
		{name: "origin killed", what: "kill -9 of the origin under load, then it is started again", setup: ownOrigin, bend: originKilled, cold: failed, direct: true, only: true},
		{name: "origin stopped", what: "SIGSTOP: the kernel takes its connections, it does nothing; then SIGCONT", setup: ownOrigin, bend: originStopped, cold: failed, direct: true, only: true, hangs: true},
		{name: "one of two origins dies", what: "the other answers for both", setup: twoOrigins, bend: refuses, mild: true, only: true},
		{name: "edge killed", what: "kill -9 of the edge under load, then it is started again with its disk tier", setup: edgeWithDisk, bend: edgeKilled, also: diskIsThere, loses: true, mild: true, only: true},
		{name: "edge out of descriptors", what: "more idle connections than the edge may have open", setup: fewDescriptors, bend: descriptorsTaken, cold: failed, mild: true, only: true, loses: true},
		{name: "damaged disk tier", what: "kill -9, every file of the disk tier is overwritten here and there, and the edge is started again", setup: edgeWithDisk, bend: diskDamaged, loses: true, mild: true, only: true},
		{name: "disk tier full", what: "the file system under --cache-dir has no room", setup: edgeOnFullDisk, bend: nothingMore, mild: true, only: true},
		{name: "store gone", what: "the store's folder is taken away under a running origin, which is then started again from its mirror",
			setup: ownStore, bend: storeGone(folderGone), mild: true, direct: true, only: true, cold: failed},
		{name: "S3 store gone", what: "the same with an S3 service that refuses connections",
			setup: s3Store, bend: storeGone(serviceGone), mild: true, direct: true, only: true, cold: failed},
		{name: "damaged mirror", what: "kill -9 of the origin, a byte of each archive in its mirror is changed, and it is started again", setup: ownOrigin, bend: mirrorDamaged, cold: failed, mild: true, direct: true, only: true},
		{name: "release switched", what: "a new release of every drawing under load: old or new, never a mixture, then new alone", setup: ownStore, bend: releaseSwitched, also: onlyNew, mild: true, direct: true, only: true},
	}
}

// allStale is the life of every drawing of an origin that is asked without a wire.
const allStale = "public, max-age=1, stale-while-revalidate=600, stale-if-error=600"

// An ownServer is a process that a phase kills and starts again in the same place.
type ownServer struct {
	s    *scene
	args []string
	now  *harness.Server
}

// listensAgain is a process with a port that it will take again.
func listensAgain(s *scene, args ...string) *ownServer {
	o := &ownServer{s: s, args: append(args, "--listen", harness.FreeAddress(s.t), "--admin-listen", "127.0.0.1:0")}
	o.begin()
	return o
}

func (o *ownServer) begin() { o.now = harness.Start(o.s.t, o.s.world.home, o.args...).Ready() }

func (o *ownServer) kill() {
	o.now.Cmd.Process.Kill()
	<-o.now.Done
}

func (o *ownServer) address() string { return o.now.Address("public") }

// ownOrigin gives the scene an origin of its own over the world's store, and ownStore one over a copy of that.
func ownOrigin(s *scene) { s.originOver(s.world.store, filepath.Join(s.t.TempDir(), "mirror")) }

func ownStore(s *scene) {
	s.store = filepath.Join(s.t.TempDir(), "store")
	if err := os.CopyFS(s.store, os.DirFS(strings.TrimPrefix(s.world.store, "dir:"))); err != nil {
		s.t.Fatal(err)
	}
	s.originOver("dir:"+s.store, filepath.Join(s.t.TempDir(), "mirror"))
}

func (s *scene) originOver(store, mirror string) {
	s.mirror = mirror
	s.own = listensAgain(s, "origin", "--store", store, "--mirror", mirror, "--cache-control", allStale)
	s.origin = s.own.address()
}

func originKilled(s *scene) func() {
	s.own.kill()
	return s.own.begin
}

func originStopped(s *scene) func() {
	s.own.now.Cmd.Process.Signal(syscall.SIGSTOP)
	return func() { s.own.now.Cmd.Process.Signal(syscall.SIGCONT) }
}

// twoOrigins puts a second wire beside the first.
func twoOrigins(s *scene) { s.origin += ",http://" + newWire(s.t, s.world.origin).address }

// edgeWithDisk makes the proxy one that a phase kills, with little memory and a disk tier.
func edgeWithDisk(s *scene) {
	s.disk = filepath.Join(s.t.TempDir(), "cache")
	s.args = []string{"--cache-dir", s.disk, "--cache-bytes", "1048576", "--listen", harness.FreeAddress(s.t)}
}

// edgeAgain kills the edge, does something, and starts it again where it was.
func edgeAgain(s *scene, between func()) func() {
	s.edge.Cmd.Process.Kill()
	<-s.edge.Done
	between()
	wait(300 * time.Millisecond)
	startEdge(s)
	return func() {}
}

func edgeKilled(s *scene) func() { return edgeAgain(s, func() {}) }

// diskIsThere: killed once more, and without an origin, the edge answers from its disk.
func diskIsThere(s *scene) {
	l := newLoad(s)
	defer l.end()
	s.within("a part of what its memory does not hold is on the disk", func() bool {
		for i := range 600 {
			l.ask(ofCold, pathOf("cold", i))
		}
		return harness.Sum(s.edge.Metrics(s.t), "iconedge_edge_cache_disk_entries ") >= 200 // what a slow disk can't keep up with is not written
	})
	s.wire.bend(status(500))
	edgeAgain(s, func() {})
	found := 0
	for i := range 600 {
		a := l.ask(ofCold, pathOf("cold", i))
		if a.right {
			found++
		}
		if a.status == http.StatusOK && !a.right {
			s.load.tally.add(a)
		}
	}
	s.wire.bend(nil)
	if found < 100 {
		s.fault("of 600 drawings an edge that was killed finds %d on its disk", found)
	}
}

func diskDamaged(s *scene) func() {
	l := newLoad(s)
	for i := range 600 {
		l.ask(ofCold, pathOf("cold", i))
	}
	l.end()
	return edgeAgain(s, func() { damage(s, s.disk, 997) })
}

// damage changes a byte in so many of every file below a folder.
func damage(s *scene, folder string, every int) {
	files := 0
	err := filepath.Walk(folder, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() || info.Size() < 1024 {
			return err
		}
		text, err := os.ReadFile(path)
		for i := every / 2; i < len(text); i += every {
			text[i] ^= 0x55
		}
		files++
		if err == nil {
			err = os.WriteFile(path, text, info.Mode())
		}
		return err
	})
	if err != nil || files == 0 {
		s.fault("damaging %s: %d files, %v", folder, files, err)
	}
}

// small is a file system of so many KiB.
func (s *scene) small(kib int) string {
	dir := filepath.Join(s.t.TempDir(), "small")
	if err := os.Mkdir(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", kib)); err != nil {
		s.t.Skipf("SKIPPED: a small file system can't be mounted here: %v", err)
	}
	s.t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func edgeOnFullDisk(s *scene) {
	s.args = []string{"--cache-dir", filepath.Join(s.small(256), "cache"), "--cache-bytes", "1048576", "--listen", harness.FreeAddress(s.t)}
}

// nothingMore is a fault that lasts from the setup on.
func nothingMore(s *scene) func() {
	l := newLoad(s)
	defer l.end()
	for i := range 600 { // memory overflows onto the disk, which has no room
		if a := l.ask(ofCold, pathOf("cold", i)); !a.right {
			s.load.tally.add(a)
		}
	}
	return func() {}
}

// fewDescriptors gives the edge room for some connections only.
func fewDescriptors(s *scene) { s.descriptors = 160 }

// limited is a command that may have so many files open.
func limited(cmd *exec.Cmd, descriptors int) *exec.Cmd {
	cmd.Args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$0" "$@"`, descriptors), cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	return cmd
}

// descriptorsTaken opens more connections than the edge may, and sends nothing on them.
func descriptorsTaken(s *scene) func() {
	var idle []net.Conn
	for range 2 * s.descriptors {
		if c, err := net.DialTimeout("tcp", s.address, 100*time.Millisecond); err == nil {
			idle = append(idle, c)
		}
	}
	return func() {
		for _, c := range idle {
			c.Close()
		}
	}
}

// storeGone takes the store away, and then the origin that had it.
func storeGone(away func(s *scene) (back func())) func(s *scene) func() {
	return func(s *scene) func() {
		back := away(s)
		wait(s.lasts() / 2) // the origin polls
		l := newLoad(s)
		defer l.end()
		for range 20 {
			if a := l.ask(ofCold, s.coldPath()); !a.right {
				s.fault("with the store gone a cold path is %d %v", a.status, a.err)
			}
		}
		s.own.kill()
		s.own.begin()
		return back
	}
}

func folderGone(s *scene) func() {
	if err := os.Rename(s.store, s.store+".away"); err != nil {
		s.t.Fatal(err)
	}
	return func() { os.Rename(s.store+".away", s.store) }
}

// s3Store publishes to an S3 service, and gives the scene an origin that reaches it by a wire of its own.
func s3Store(s *scene) {
	address := storetest.S3(s.t)
	harness.Must(s.t, s.world.home, "publish", "--store", address, s.world.sources)
	endpoint := regexp.MustCompile(`endpoint=([^&]+)`).FindStringSubmatch(address)[1]
	s.toStore = newWire(s.t, endpoint)
	s.originOver(strings.Replace(address, endpoint, s.toStore.address, 1), filepath.Join(s.t.TempDir(), "mirror"))
}

func serviceGone(s *scene) func() {
	s.toStore.cut()
	return s.toStore.listen
}

func mirrorDamaged(s *scene) func() {
	s.own.kill()
	damage(s, s.mirror, 4099)
	s.own.begin()
	return func() {}
}

func originOnFullDisk(s *scene) {
	ownStore(s)
	s.own.kill()
	mirror := s.small(4096)
	s.originOver("dir:"+s.store, filepath.Join(mirror, "mirror"))
}

// releaseTooLarge publishes what the mirror has no room for: the origin stays on the release that it has, until there is room.
func releaseTooLarge(s *scene) func() {
	dir := filepath.Join(s.t.TempDir(), "sources")
	writeLibrary(s.t, dir, "9v9z")
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range 40 { // they do not compress well
		var path strings.Builder
		for range 20_000 {
			fmt.Fprintf(&path, "h%dv%d", noise.IntN(1e6), noise.IntN(1e6))
		}
		writeDrawing(s.t, filepath.Join(dir, "cold"), fmt.Sprintf("noise%d", i), path.String())
	}
	after := s.published(dir)
	harness.Must(s.t, s.world.home, "publish", "--store", "dir:"+s.store, dir)
	return func() {
		s.truths.Store(&[]*truth{s.world.truth, after})
		if err := syscall.Mount("tmpfs", filepath.Dir(s.mirror), "tmpfs", syscall.MS_REMOUNT, "size=65536k"); err != nil {
			s.t.Error(err)
		}
	}
}

// releaseSwitched publishes another drawing under each name.
func releaseSwitched(s *scene) func() {
	dir := filepath.Join(s.t.TempDir(), "sources")
	writeLibrary(s.t, dir, "9v9z")
	s.truths.Store(&[]*truth{s.world.truth, s.published(dir)})
	harness.Must(s.t, s.world.home, "publish", "--store", "dir:"+s.store, dir)
	return func() {}
}

// published is the truth of a release before it is published where the scene would see it.
func (s *scene) published(sources string) *truth {
	store := "dir:" + filepath.Join(s.t.TempDir(), "beside")
	harness.Must(s.t, s.world.home, "publish", "--store", store, sources)
	return newTruth(s.world.start(s.t, store, filepath.Join(s.t.TempDir(), "mirror")).Address("public"))
}

// onlyNew: what the switch of a release may take is over; from then on not one answer is old.
func onlyNew(s *scene) {
	both := *s.truths.Load()
	l := newLoad(s)
	defer l.end()
	s.truths.Store(&[]*truth{both[1]})
	for _, path := range s.warmPaths() {
		harness.Eventually(s.t, "the new release is shown", func() bool { return l.ask(ofWarm, path).right })
	}
	for _, path := range s.warmPaths() {
		if a := l.ask(ofWarm, path); !a.right {
			s.fault("%s is not of the new release: %d %v", path, a.status, a.err)
		}
	}
}

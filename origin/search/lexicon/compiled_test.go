package lexicon

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/test/sequential"
)

var few = map[string][]Meaning{
	"bin": {{Text: "trash", Whole: true, Weight: .9}, {Text: "can", Whole: false, Weight: .5},
		{Text: "trash can", Whole: false, Weight: .5}, {Text: "skip", Whole: false, Weight: .016}},
	"bind":        {{Text: "link", Whole: false, Weight: 1}},
	"étagère":     {{Text: "shelf", Whole: false, Weight: .25}, {Text: "trash", Whole: true, Weight: .2}},
	"waste paper": {{Text: "trash", Whole: true, Weight: .3}},
}

func compiled(t testing.TB, meanings map[string][]Meaning) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := Compile(&file, []Source{{"tags", "1.2.3", "MIT"}}, meanings); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// readAll returns all of a compiled lexicon, with the steps of weights.
func readAll(t testing.TB, data []byte) (keys []string, meanings map[string][]Meaning) {
	t.Helper()
	c, err := ReadCompiled(data)
	if err != nil {
		t.Fatal(err)
	}
	meanings = map[string][]Meaning{}
	for key, list := range c.All(nil) {
		keys = append(keys, key)
		for _, m := range list {
			m.Weight = stepIn(m)
			meanings[key] = append(meanings[key], m)
		}
	}
	return keys, meanings
}

func stepIn(m Meaning) float64 { return float64(stepOf(m.Weight, 0).step) }

func TestCompiled(t *testing.T) {
	data := compiled(t, few)
	if !bytes.Equal(data, compiled(t, few)) {
		t.Error("the same meanings give other bytes")
	}
	keys, got := readAll(t, data)
	if !slices.Equal(keys, []string{"bin", "bind", "waste paper", "étagère"}) {
		t.Errorf("keys %q", keys)
	}
	want := map[string][]Meaning{}
	for key, list := range few {
		for _, m := range list {
			m.Weight = stepIn(m)
			want[key] = append(want[key], m)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if c, err := ReadCompiled(data); err != nil || !slices.Equal(c.Sources, []Source{{"tags", "1.2.3", "MIT"}}) {
		t.Errorf("sources %v, error %v", c.Sources, err)
	}
	for _, weight := range []float64{0, 1e-9, .5, .999, 1} {
		_, got := readAll(t, compiled(t, map[string][]Meaning{"a": {{Text: "b", Whole: false, Weight: weight}}}))
		if want := stepIn(Meaning{Weight: weight}); got["a"][0].Weight != want {
			t.Errorf("weight %v has become step %v, want %v", weight, got["a"][0].Weight, want)
		}
	}
	if err := Compile(&bytes.Buffer{}, nil, map[string][]Meaning{strings.Repeat("a", 256): nil}); !errors.Is(err, ErrCompiled) {
		t.Errorf("a word of 256 bytes: %v", err)
	}
}

func TestMeanings(t *testing.T) {
	base, err := ReadCompiled(compiled(t, map[string][]Meaning{
		"garbage": {{Text: "trash", Whole: true, Weight: .9}, {Text: "waste", Whole: false, Weight: .4}},
		"zebra":   {{Text: "horse", Whole: false, Weight: .3}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	tags := []Project{{Name: "tags", Icons: []Tagged{{Name: "trash", Tags: []string{"garbage"}}, {Name: "pony", Tags: []string{"cob"}}}}}
	for _, row := range []struct {
		why  string
		l    Lexicon
		want map[string]string
	}{
		{"nothing", Lexicon{}, map[string]string{}},
		{"the base alone", Lexicon{Base: base}, map[string]string{"garbage": "=trash waste", "zebra": "horse"}},
		{"the base and tags", Lexicon{Base: base, Projects: tags},
			map[string]string{"cob": "=pony pony", "garbage": "=trash waste trash", "zebra": "horse"}},
		{"tags alone", Lexicon{Projects: tags}, map[string]string{"cob": "=pony pony", "garbage": "=trash trash"}},
	} {
		all, err := row.l.Meanings(t.Context(), func() Names { return named("pony", "trash") }, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, last := map[string]string{}, ""
		for key, list := range all {
			if key <= last {
				t.Errorf("%s: %q after %q", row.why, key, last)
			}
			last, got[key] = key, strings.Join(texts(list), " ")
			if !slices.IsSortedFunc(list, func(a, b Meaning) int { return int(1e6 * (b.Weight - a.Weight)) }) {
				t.Errorf("%s: %q means %v, want the most certain first", row.why, key, list)
			}
		}
		if !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.why, got, row.want)
		}
	}
}

// TestForm checks that All passes forms, and leaves out meanings without one, and words without
// meanings.
func TestForm(t *testing.T) {
	c, err := ReadCompiled(compiled(t, few))
	if err != nil {
		t.Fatal(err)
	}
	asked, got := 0, ""
	for key, list := range c.All(func(m Meaning) string { asked++; return strings.TrimSuffix(m.Text, "can") }) {
		if key == "bin" || key == "bind" {
			got += key + ": "
			for _, m := range list {
				got += m.Form + ", "
			}
		}
	}
	if want := "bin: trash, trash , skip, bind: link, "; got != want || asked != 6 {
		t.Errorf("got %q, want %q; asked %d times, want 6, once for each meaning", got, want, asked)
	}
}

// TestShipped checks the file that `make lexicon` writes.
func TestShipped(t *testing.T) {
	sequential.Test(t)
	c, err := Shipped(sha256.New())
	if err != nil {
		t.Fatal(err)
	}
	if len(shipped) > 6e6 {
		t.Errorf("it has %d bytes, want at most 6 MB", len(shipped))
	}
	var library struct{ Dependencies map[string]string }
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "tools", "library", "lexicon", "package.json"))
	if err == nil {
		err = json.Unmarshal(data, &library)
	}
	if err != nil {
		t.Fatal(err)
	}
	notice, err := os.ReadFile(filepath.Join("..", "..", "..", "NOTICE"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Sources {
		if pinned := library.Dependencies[s.Package]; pinned != s.Version {
			t.Errorf("it was learned from %s %s, but tools/library/lexicon/package.json pins %q: run make lexicon",
				s.Package, s.Version, pinned)
		}
		if !strings.Contains(string(notice), s.Package+" "+s.Version+" ("+s.License+")") {
			t.Errorf("NOTICE does not name %s %s (%s)", s.Package, s.Version, s.License)
		}
	}
	if len(c.Sources) != 38 {
		t.Errorf("sources %v, want 38", c.Sources)
	}
	want := map[string]string{"garbage": "trash", "lorry": "truck", "maison": "house", "corazon": "heart", "房子": "house", "🏠": "house"}
	for english, foreign := range interfaceWords {
		for word := range strings.FieldsSeq(foreign) {
			want[key(word)] = english
		}
	}
	found := map[string]string{}
	for k, list := range c.All(nil) {
		if want[k] != "" {
			found[k] = strings.Join(texts(list), ",") + ","
		}
	}
	for k, english := range want {
		if !strings.Contains(found[k], "="+english+",") {
			t.Errorf("%q means %.200q, want %q included", k, found[k], english)
		}
	}
}

// interfaceWords are words on buttons in the languages of the contract, by their English word.
var interfaceWords = map[string]string{
	"setting":  "设置 設定 설정 настройки إعدادات الإعدادات einstellungen paramètres configurações",
	"download": "下载 ダウンロード 다운로드 скачать تنزيل descargar herunterladen télécharger baixar",
	"upload":   "上传 アップロード 업로드 загрузить subir hochladen",
	"search":   "搜索 検索 검색 поиск بحث buscar suchen rechercher pesquisar",
	"close":    "关闭 閉じる 닫기 закрыть إغلاق cerrar schließen fermer fechar",
	"save":     "保存 저장 сохранить حفظ guardar speichern enregistrer salvar",
	"delete":   "删除 削除 삭제 удалить حذف löschen supprimer excluir",
	"edit":     "编辑 編集 편집 редактировать تحرير editar bearbeiten modifier",
	"user":     "用户 ユーザー 사용자 пользователь usuario benutzer utilisateur usuário",
	"share":    "分享 共有 공유 поделиться مشاركة compartir teilen partager compartilhar",
}

// FuzzReadCompiled checks that all of an accepted file can be read, in order.
func FuzzReadCompiled(f *testing.F) {
	data := compiled(f, few)
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ReadCompiled(data)
		if err != nil {
			if !errors.Is(err, ErrCompiled) {
				t.Fatalf("%v, want ErrCompiled", err)
			}
			return
		}
		for key, list := range c.All(nil) {
			for i, m := range list {
				if m.Weight <= 0 || m.Weight > 1 || i > 0 && m.Weight > list[i-1].Weight {
					t.Fatalf("%q: %v", key, list)
				}
			}
		}
	})
}
